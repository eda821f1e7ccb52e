#!/bin/bash
# Who may include whom, what a program may be linked with, and what may lie
# in the tree.  The arrows point one way: collector and fcgi know store,
# store knows neither, and the daemon that runs as root has no parser of
# foreign formats in it.
set -u
cd "$(dirname "$0")/../.." || exit 1
ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; echo "$2" | sed 's/^/# /'; }
expect_empty() { if [ -z "$2" ]; then ok "$1"; else not_ok "$1" "$2"; fi; }

# "FILE INCLUDED" for each of our own headers, as the compiler finds it:
# beside the file, at the top, in store.  "generated" has none of them.
included() {
	grep -H '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' \
		$(find store collector fcgi -name '*.[ch]') |
		sed 's/^\([^:]*\):[^"]*"\([^"]*\)".*/\1 \2/' |
		while read -r file name; do
			found=generated/$name
			for place in "${file%/*}" . store; do
				[ -e "$place/$name" ] || continue
				found=$place/$name
				break
			done
			echo "$file $found"
		done
}
# and the paths without "..", all by one process
found=$(included)
all=$(paste -d' ' <(cut -d' ' -f1 <<<"$found") \
	<(cut -d' ' -f2 <<<"$found" | xargs realpath -m --relative-to=. --))
if [ "$(echo "$all" | wc -l)" -gt 200 ]; then
	ok "includes are found"
else
	not_ok "includes are found" "$all"
fi

# Files that match $2 include nothing but what matches $3.
only() {
	expect_empty "$1" "$(echo "$all" | awk -v who="$2" -v whom="$3" \
		'$1 ~ who && $2 !~ whom')"
}
only "store/base includes store/base" '^store/base/' '^store/base/'
only "store includes store" '^store/' '^store/'
only "the daemon includes collector and store" \
	'^collector/([^s]|s[^c]|sc[^r])' '^(collector|store|generated)/'
only "the scraper includes collector, store and fcgi/format" \
	'^collector/scrape' '^(collector/|store/|fcgi/format/)'
only "fcgi includes fcgi and store" '^fcgi/' \
	'^((fcgi|store)/|generated/[a-z]*\.pb-c\.h$)'
only "fcgi/format includes fcgi/format and store" '^fcgi/format/' \
	'^((fcgi/format|store)/|generated/[a-z]*\.pb-c\.h$)'
expect_empty "what is generated is a BPF program or a protobuf message" \
	"$(echo "$all" | grep ' generated/' |
		grep -vE '^collector/.*\.skel\.h$|^fcgi/.*\.pb-c\.h$')"

# Headers of $2 are included in no file but those that match $3.
foreign() {
	expect_empty "$1" "$(grep -rE "^[[:space:]]*#[[:space:]]*include *<$2" \
		--include='*.[ch]' store collector fcgi |
		grep -vE "^$3")"
}
foreign "Berkeley DB is store's alone" 'db\.h' 'store/[a-z_]*\.c:'
foreign "libbpf is the collector's alone" 'bpf/' 'collector/'
foreign "FastCGI is the worker's alone" 'fcgi(app|_|os)' 'fcgi/[a-z_]*\.c:'
foreign "json-c is the worker's and the scraper's" 'json' \
	'(fcgi/[a-z_/]*|collector/scrape[a-z_]*)\.c:'
foreign "graphviz is the worker's alone" '(graphviz|gvc|cgraph)' \
	'fcgi/[a-z_]*\.c:'

# The daemon's symbols against those of the parsers' library.
if [ -e "$BUILD/memlensd" ] && [ -e "$BUILD/libformat.a" ]; then
	symbols() { nm --defined-only "$@" 2>/dev/null | awk 'NF == 3 {print $3}'; }
	parsers=$(nm -g --defined-only "$BUILD/libformat.a" 2>/dev/null |
		awk 'NF == 3 { print $3 }' | grep -v '^_' | sort -u)
	if [ "$(echo "$parsers" | wc -l)" -ge 10 ] &&
	    symbols "$BUILD/memlens-scrape" | grep -qx prom_parse; then
		ok "the symbols of fcgi/format are known"
	else
		not_ok "the symbols of fcgi/format are known" "$parsers"
	fi
	expect_empty "memlensd has no parser of foreign formats in it" \
		"$(symbols "$BUILD/memlensd" | sort -u |
			comm -12 - <(echo "$parsers"))"
else
	echo "skip - memlensd has no parser of foreign formats in it: not built"
fi

# The tree.
if ! git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
	echo "skip - what is tracked: not a clone"
	exit 0
fi
tracked=$(git -c core.quotePath=false ls-files)
top=$(echo "$tracked" | cut -d/ -f1 | grep -v '^\.' | LC_ALL=C sort -u | xargs)
wanted="Makefile README.md collector fcgi frontend nginx store tests"
if [ "$top" = "$wanted" ]; then
	ok "the top level is as README.md says"
else
	not_ok "the top level is as README.md says" "$top"
fi
expect_empty "nothing generated is tracked" "$(echo "$tracked" |
	grep -E '(^|/)(node_modules|build)/|vmlinux\.h$|\.skel\.h$' ;
	echo "$tracked" | grep -E '\.(o|a|so|d|gcda|gcno|pyc|orig|rej|log)$')"
expect_empty "no program is tracked but as input of a fuzzer" "$(
	echo "$tracked" | grep -v '^tests/fuzz/corpus/' | while read -r f; do
		[ -f "$f" ] && [ "$(head -c 4 "$f" | od -An -tx1)" = \
			" 7f 45 4c 46" ] && echo "$f"
	done)"
expect_empty "no file names a folder of somebody's machine" "$(
	git grep -nIE '(^|[^[:alnum:]_.-])/(work|home|Users)/[[:alnum:]]' -- . \
		':!tests/check/includes.sh' ':!tests/data')"
