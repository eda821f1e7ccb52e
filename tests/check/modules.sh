#!/bin/bash
# What a newcomer relies on: each file begins with what it does and why, each
# module has a header of its name, each function begins with its file's word.
set -u
cd "$(dirname "$0")/../.." || exit 1
ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; echo "$2" | sed 's/^/# /'; }
expect_empty() { if [ -z "$2" ]; then ok "$1"; else not_ok "$1" "$2"; fi; }

# The files that do not begin with a comment that says something.  The line
# that names an interpreter may stand before it.
headless() {
	awk 'FNR == 1 { first = $0 !~ /^#!/ ? 1 : 2; text = "" }
		FNR >= first && FNR < first + 2 { text = text " " $0 }
		FNR == first + 1 && text !~ \
		    /^ (\/\*|\/\/|# |-- |""")[ *]*[^ *].* [a-z]/ {
			print FILENAME
		}' "$@"
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '/*\n * What this does.\n */\n' >"$dir/good.c"
printf '#!/bin/sh\n# What this does.\nset -u\n' >"$dir/good.sh"
printf '#include "a.h"\n/* What this does. */\n' >"$dir/late.c"
printf '#!/bin/sh\nset -u\n# What this does.\n' >"$dir/late.sh"
printf '/*\n */\nint a;\n' >"$dir/empty.c"
if [ "$(headless "$dir"/* | xargs -n 1 basename | xargs)" = \
	"empty.c late.c late.sh" ]; then
	ok "a file without a head is seen"
else
	not_ok "a file without a head is seen" "$(headless "$dir"/*)"
fi
expect_empty "each file begins with what it does" "$(headless $(
	find store collector fcgi frontend nginx tests \
		\( -name node_modules -o -name data -o -name snapshots \) \
		-prune -o -type f -regextype egrep \
		-regex '.*\.(c|h|cc|js|mjs|css|sh|py|lua)' -print | sort))"

# A file's header is of its own name, or of the module that it is a part of:
# seal_input.c has seal_private.h, batch_read.c has batch.h.  Pages, commands
# and profiles are named by a table (site.c, cmd.h, profiles.h) and need none.
# What else has none is here, with the header that says what it does.
elsewhere='
collector/main.c: a program
collector/java/java.c: a program
collector/scrape/scrape.c: a program
fcgi/main.c: a program
fcgi/draw/main.c: a program
fcgi/memlens/memlens.c: a program
fcgi/format/out/stacks_profile.c: fcgi/format/stacks.h
store/journal/open_ahead.c: openspan.h
store/model/selector.c: series.h
store/read/missing.c: reader.h
store/read/plan.c: reader.h
store/read/query_histogram.c: store/store.h
store/read/query_facts.c: store/store.h
store/read/query_metric.c: store/store.h
store/read/query_scratch.c: reader.h
store/read/query_services.c: store/store.h
store/read/query_totals.c: store/store.h
store/write/purge.c: work.h
'
unsaid() {
	find store collector fcgi -name '*.c' ! -name '*.bpf.c' \
		! -name '*.so.c' ! -name 'api_*.c' ! -name 'cmd_*.c' \
		! -path 'collector/profile/*' | sort |
	while read -r f; do
		part=${f%.c}
		while :; do
			[ -e "$part.h" ] || [ -e "${part}_private.h" ] && break
			case ${part##*/} in
			*_*) part=${part%_*} ;;
			*) echo "$f" && break ;;
			esac
		done
	done
}
expect_empty "each module has a header" "$(
	unsaid | grep -vxF "$(sed -n 's/: .*//p' <<<"$elsewhere")")"
expect_empty "what stands elsewhere has no header of its own" "$(
	sed -n 's/: .*//p' <<<"$elsewhere" | grep -vxF "$(unsaid)")"

# A function begins with a word of its file, or of the header that says what
# it does, so that its name tells where it is: "scrape_http.c: http_answer".
# Others, with the reason:
words='
store/base/buf.c cur: the reading half of buf.h
store/base/buf.c crc32c: known by that name
store/base/buf.c hash64: sums of bytes stand with bytes
store/base/intern.c map64: what intern is made of
store/file/block.c entry: what a block holds
store/file/block.c strip: what blocks are in
store/model/series.c frame: what a stack is made of
store/model/series.c label: what a series is made of
store/model/series.c scale: of a series of means
store/read/query_scratch.c node: values by node are the scratch
fcgi/format/flame/flame_stacks.c lay: flame_lay.h
fcgi/server/respond.c response: the noun
'
strangers() {
	awk 'function is_word(word, file, w, n) {
			n = split(file, w, "_")
			for (; n > 0; n--)
				if (w[n] != "" && (index(word, w[n]) ||
				    index(w[n], word)))
					return 1
			return 0
		}
		FNR == NR {
			file = $1; sub(/:/, "", file); sub(/\.h$/, "", $2)
			sub(/.*\//, "", $2); said[file] = $2
			next
		}
		/^static|^$|^\}/ { hidden = /^static/ }
		/^[a-z_0-9]+\(/ && !/;$/ && !hidden && !/^(main|__)/ {
			sub(/\(.*/, ""); file = FILENAME
			sub(/.*\//, "", file); sub(/\.c$/, "", file)
			word = $0; sub(/_.*/, "", word)
			if (!is_word(word, file "_" said[FILENAME]) &&
			    !(FILENAME ~ /^store/ && word == "store"))
				print FILENAME, word, $0
		}' - $(find store collector fcgi -name '*.c' \
			! -name '*.bpf.c' ! -name '*.so.c') <<<"$elsewhere"
}
known=$(sed -n 's/: .*//p' <<<"$words")
expect_empty "a function begins with its file's word" "$(strangers |
	grep -vFf <(sed 's/$/ /' <<<"$known"))"
expect_empty "each exception is of use" "$(
	grep -vxF "$(strangers | cut -d' ' -f1,2)" <<<"$known")"
