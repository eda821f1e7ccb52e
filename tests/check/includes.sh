#!/bin/bash
# Who may include whom, what a program may be linked with, and what may lie
# in the tree.  Each room has its line; what a room may include stands above
# it, so the arrows point one way.  The daemon that runs as root has no parser
# of foreign formats in it.
set -u
cd "$(dirname "$0")/../.." || exit 1
ROOM_MAX=32
ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; echo "$2" | sed 's/^/# /'; }
expect_empty() { if [ -z "$2" ]; then ok "$1"; else not_ok "$1" "$2"; fi; }

# ROOM: the rooms that it may include.  "generated": skeletons of BPF programs,
# messages of foreign formats, scripts and styles of what we answer.
arrows='
generated:
store/base:
store/model: store/base
store/batch: store/model store/base
store: store/batch store/model store/base
store/file: store store/batch store/model store/base
store/journal: store/file store/batch store/model store/base
store/check: store/journal store/file store/batch store/model store/base
store/read: store store/journal store/file store/batch store/model store/base
store/profile: store/read store/file store/model store/base
store/seal: store/journal store/file store/batch store/model store/base
store/write: store/seal store store/check store/journal store/file
	store/batch store/model store/base
collector/alloc:
collector/bpf: collector/alloc store/model
collector/base: store/base
collector/ipc: collector/base store store/batch store/base
collector/process: collector/alloc collector/base store/batch store/model store/base
collector/maps: collector/process collector/base store/base
collector/procfs: collector/process collector/base store/batch store/model
	store/base
collector/elf: collector/bpf store/base
collector/symbols: collector/elf collector/bpf collector/base store/model store/base
collector/unwind: collector/symbols collector/maps collector/process collector/base
	collector/elf collector/bpf store/base
collector/probe: collector/unwind collector/bpf generated store/base
collector/disk: collector/probe collector/process collector/base store/batch
	store/model store/base
collector/pbft: collector/disk collector/probe collector/symbols collector/elf
	collector/process collector/base store/batch store/base
collector/objects: collector/alloc collector/symbols collector/process
	store/base
collector/watch: collector/probe collector/unwind collector/symbols collector/maps
	collector/process store/base
collector/engine: collector/watch collector/probe collector/unwind collector/symbols
	collector/objects collector/alloc
	collector/maps collector/process collector/base collector/bpf store/batch store/model
	store/base
collector/profile: collector/alloc collector/engine collector/base
collector: collector/disk collector/pbft collector/procfs collector/process collector/ipc
	collector/base store store/batch store/base
fcgi/format: store store/model store/base
fcgi/format/heap: fcgi/format store/model store/base
fcgi/format/jfr: fcgi/format generated store/model store/base
fcgi/format/pprof: fcgi/format generated store store/model store/base
fcgi/format/in: fcgi/format/pprof fcgi/format/jfr fcgi/format/heap fcgi/format
	store/model store/base
fcgi/format/flame: fcgi/format generated store store/model store/base
fcgi/format/out: fcgi/format/flame fcgi/format generated store store/model
	store/base
fcgi/http: store/base
collector/java: collector/base store/batch store/base
fcgi/child: store/base
fcgi/server: fcgi/child fcgi/format store store/batch store/model store/base
fcgi/draw: fcgi/server store/base
fcgi/kv: fcgi/server fcgi/child fcgi/http fcgi/format store/model
	store/base
fcgi/query: fcgi/server fcgi/format/pprof fcgi/format/flame fcgi/format store
	store/model store/base
fcgi/starlark: fcgi/format store/base
fcgi/graph/model: fcgi/format store/base
fcgi/graph/read: fcgi/graph/model fcgi/starlark fcgi/child fcgi/format
	store/base
fcgi/graph: fcgi/graph/read fcgi/graph/model fcgi/query fcgi/server
	fcgi/format store store/model store/base
fcgi/api: fcgi/query fcgi/server fcgi/format/out fcgi/format/flame
	fcgi/format store store/model store/base
fcgi/pyroscope: fcgi/api fcgi/query fcgi/server fcgi/format/out
	fcgi/format/flame fcgi/format generated store store/model store/base
fcgi/push: fcgi/pyroscope fcgi/server fcgi/format/in fcgi/format/jfr
	fcgi/format/pprof fcgi/format generated
	store/batch store/model store/base
fcgi/symbolize: collector/elf fcgi/format/heap store/model store/base
collector/pull: fcgi/push fcgi/symbolize fcgi/format/in fcgi/format/heap
	fcgi/format/pprof fcgi/format store/batch store/model store/base
collector/scrape: collector/pull fcgi/http fcgi/format/in store/batch
	store/base
fcgi: fcgi/push fcgi/pyroscope fcgi/api fcgi/graph fcgi/kv fcgi/server
	fcgi/child store/base
fcgi/memlens: collector/alloc collector/elf fcgi/symbolize fcgi/push
	fcgi/graph/read fcgi/graph/model fcgi/server
	fcgi/child fcgi/format/out
	fcgi/format/in fcgi/format/heap fcgi/format/flame fcgi/format store
	store/check store/read store/journal store/batch store/model
	store/base
'
# one line a room
arrows=$(tr '\n' ' ' <<<"$arrows" | tr -s '\t ' ' ' |
	sed 's/ \([a-z/]*:\)/\n\1/g' | sed '/^$/d')

# "FILE ROOM INCLUDED ROOM" of each of our own includes, which are paths from
# the top.
all=$(grep -rH --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' \
	store collector fcgi | sed 's/^\([^:]*\):[^"]*"\([^"]*\)".*/\1 \2/' |
	awk '{
		from = to = $1 " " $2
		sub(/\/[^\/]* .*/, "", from); sub(/.* /, "", to)
		if (sub(/\/[^\/]*$/, "", to) == 0) to = "generated"
		print $1, from, $2, to
	}')
if [ "$(wc -l <<<"$all")" -gt 1000 ]; then
	ok "includes are found"
else
	not_ok "includes are found" "$all"
fi
expect_empty "includes are paths of files from the top" "$(
	awk '$4 != "generated" { print $3 }' <<<"$all" | sort -u |
		while read -r f; do [ -e "$f" ] || echo "$f"; done)"
expect_empty "what is generated is a BPF program, a protobuf message or a text" \
	"$(awk '$4 == "generated" && !($3 ~ /\.skel\.h$/ && $2 ~ /^collector/) &&
		!($3 ~ /\.(pb-c|js|css)\.h$/ && $2 ~ /^fcgi/)' <<<"$all")"
expect_empty "each arrow between rooms is in the list" "$(
	awk 'FNR == NR {
		room = $1; sub(/:/, "", room)
		known[room room] = 1
		for (i = 2; i <= NF; i++) known[room $i] = 1
		next
	}
	!known[$2 $4]' <(echo "$arrows") <(echo "$all"))"
expect_empty "each arrow in the list is used" "$(
	awk 'FNR == NR { used[$2 $4] = 1; next } {
		room = $1; sub(/:/, "", room)
		for (i = 2; i <= NF; i++)
			if (!used[room $i]) print room " -> " $i
	}' <(echo "$all") <(echo "$arrows"))"
expect_empty "arrows go down only" "$(
	awk '{ for (i = 2; i <= NF; i++) if (!above[$i])
			print $1 " " $i
		room = $1; sub(/:/, "", room); above[room] = 1 }' <<<"$arrows")"
expect_empty "a room has at most $ROOM_MAX files" "$(
	for room in $(cut -d: -f1 <<<"$arrows"); do
		[ -d "$room" ] || continue
		n=$(ls "$room"/*.[ch] 2>/dev/null | wc -l)
		[ "$n" -le "$ROOM_MAX" ] || echo "$room: $n"
	done)"

# Headers of $2 are included in no file but those that match $3.
foreign() {
	expect_empty "$1" "$(grep -rE "^[[:space:]]*#[[:space:]]*include *<$2" \
		--include='*.[ch]' store collector fcgi |
		grep -vE "^$3")"
}
foreign "Berkeley DB is store's alone" 'db\.h' 'store/file/[a-z_]*\.c:'
foreign "libbpf is the collector's alone" 'bpf/' 'collector/'
foreign "FastCGI is the worker's alone" 'fcgi(app|_|os)' 'fcgi/server/[a-z_]*\.c:'
foreign "libcurl is one room's alone" 'curl/' 'fcgi/http/[a-z_]*\.[ch]:'
foreign "json-c is the worker's and the scraper's" 'json' \
	'(fcgi/[a-z_/]*|collector/scrape/[a-z_]*)\.c:'
foreign "graphs are read in fcgi/graph/read and drawn in fcgi/draw" graphviz \
	'fcgi/(graph/read|draw)/[a-z_]*\.c:'
foreign "what draws is fcgi/draw's alone" \
	'(graphviz/gvc|librsvg|cairo|pango|gio|glib|gobject)' \
	'fcgi/draw/[a-z_]*\.c:'

# The programs that read strangers' bytes have no library that draws.
for program in memlens-fcgi memlens memlensd memlens-scrape memlens-java; do
	if [ ! -e "$BUILD/$program" ]; then
		echo "skip - $program has no library that draws: not built"
		continue
	fi
	expect_empty "$program has no library that draws" "$(
		ldd "$BUILD/$program" | grep -E \
		'lib(gvc|rsvg|cairo|pango|glib|gio|X11|xml2|fontconfig)')"
done

# What objects need of each other, room by room: a prototype that stands in
# another room than its function hides an arrow from the includes.  What a
# room may include brings what that may include; store.h is the door to the
# rooms behind it.  Known, with the prototype's place:
said_elsewhere='
stacks_profile of fcgi/format/out: fcgi/format/stacks.h
source_profiles of collector/profile: collector/base, the table of profiles
'
# ARROWS OBJECTS...: the symbols that a room takes from one it may not know.
hidden() {
	nm -gA "${@:2}" 2>/dev/null | sed "s|^$BUILD/obj/||; s/:/ /" | awk '
		BEGIN {
			while ((getline line <"store/store.h") > 0)
				while (match(line, /[a-z_0-9]+\(/)) {
					door[substr(line, RSTART, RLENGTH - 1)]
					line = substr(line, RSTART + RLENGTH)
				}
		}
		FNR == NR {
			room = $1; sub(/:/, "", room)
			below[room] = room
			for (i = 2; i <= NF; i++)
				below[room] = below[room] " " below[$i]
			n = split(below[room], all, " ")
			for (i = 1; i <= n; i++) known[room, all[i]]
			next
		}
		{ room = $1; sub(/\/[^\/]*$/, "", room) }
		$(NF - 1) ~ /^[TDBRCVW]$/ { home[$NF] = home[$NF] " " room }
		$(NF - 1) == "U" { user[++m] = room; file[m] = $1; of[m] = $NF }
		END {
			for (i = 1; i <= m; i++) {
				if ((user[i], "store") in known && of[i] in door)
					continue
				n = split(home[of[i]], all, " ")
				for (k = 1; k <= n; k++)
					if ((user[i], all[k]) in known) break
				if (n > 0 && k > n)
					print file[i], of[i], "of" home[of[i]]
			}
		}' <(echo "$1") -
}
# not what a build of another commit has left
objects=$(find store collector fcgi -name '*.c' ! -name '*.bpf.c' |
	sed 's/c$/o/' | while read -r f; do
		[ ! -e "$BUILD/obj/$f" ] || echo "$BUILD/obj/$f"
	done)
if [ "$(wc -l <<<"$objects")" -gt 300 ]; then
	expect_empty "each symbol is of a room that the list allows" "$(
		hidden "$arrows" $objects | grep -vFf <(
			sed -n 's/: .*//p' <<<"$said_elsewhere"))"
	if hidden "$(sed 's/^store\/read:.*/store\/read:/' <<<"$arrows")" \
		$objects | grep -q '^store/read/.* err_nomem of store/base$'
	then
		ok "a symbol of another room is seen"
	else
		not_ok "a symbol of another room is seen" "$objects"
	fi
else
	echo "skip - each symbol is of a room that the list allows: not built"
fi

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
