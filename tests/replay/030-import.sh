#!/bin/bash
# memlens import of every foreign format into a store, and what a worker then
# answers: the same stacks, nothing lost.
set -u
cd "$(dirname "$0")/../.." || exit 1
T=$(mktemp -d)
trap 'kill ${worker:-} 2>/dev/null; wait 2>/dev/null; rm -rf "$T"' EXIT
memlens=$BUILD/memlens
ok() { echo "ok - $1"; }
no() {
	echo "not ok - $1"
	sed 's/^/# /' "$T/why" "$T/log" 2>/dev/null | head -n 20
}
from=1700000003 until=1700000094
import() { # NAME ARGUMENT...
	local name=$1
	shift
	"$memlens" import --service "$name" --from $from --until $until "$@" \
		"$T/store" >"$T/log" 2>&1 || no "import $name"
}

# The same stacks in each format: main;read 5, main;write 7.
printf 'main;read 5\nmain;write 7\n' >"$T/folded"
for i in read read read read read write write write write write write write
do echo "main;$i"; done >"$T/lines"
printf '\0\0\1\5main;\0\2\4read\5\0\5write\7\0' >"$T/trie"
printf '\0\0\1\4main\0\2\4read\5\0\5write\7\0' >"$T/tree"
cat >"$T/speedscope" <<-'EOF'
	{"profiles": [{"type": "sampled", "unit": "none", "name": "x",
	"startValue": 0, "endValue": 12, "samples": [[0, 1], [0, 2]],
	"weights": [5, 7]}], "shared": {"frames": [{"name": "main"},
	{"name": "read"}, {"name": "write"}]}}
EOF
cat >"$T/heap_v2" <<-'EOF'
	--- symbol
	0x1 read
	0x2 write
	0x10 main
	---
	--- heap
	heap_v2/1
	@ 0x1 0x11
	 t*: 5: 50000 [0: 0]
	@ 0x2 0x11
	 t*: 7: 70000 [0: 0]
EOF
sed -e 's/^heap_v2.*/heap profile: 1: 1 [2: 2] @ heapprofile/' -e '/^@/d' \
	-e 's/^ t\*: \(5.*\)/\1 @ 0x1 0x11/' \
	-e 's/^ t\*: \(7.*\)/\1 @ 0x2 0x11/' "$T/heap_v2" >"$T/gperftools"
for i in 5:read:1 7:write:2; do
	IFS=: read -r n name ip <<<"$i"
	for _ in $(seq "$n"); do
		printf 'x 1 [000] 1.0: cpu-clock:\n\t%s %s+0x1 (/x)\n' "$ip" "$name"
		printf '\t10 main+0x1 (/x)\n\n'
	done
done >"$T/perf"

import folded "$T/folded"
gzip -k "$T/folded"
import packed "$T/folded.gz"
import typed --type cpu --unit samples --label region=eu "$T/folded"
import lines "$T/lines"
import trie --format trie "$T/trie"
import tree --format tree "$T/tree"
import speedscope "$T/speedscope"
import perf "$T/perf"
import heap_v2 "$T/heap_v2"
import gperftools "$T/gperftools"
import twice "$T/folded" "$T/speedscope"

"$BUILD/memlens-fcgi" -s "$T/store" -l "$T/sock" -p query -j 1 2>"$T/log" &
worker=$!
for _ in $(seq 600); do
	grep -q " 00010000 .* $T/sock\$" /proc/net/unix && break
	sleep 0.1
done
folded() { # QUERY, over all of it
	local uri="/api/v1/flamegraph.folded?query=$1&from=1700000000&until=1700000100&max-nodes=-1&bare=1"
	REQUEST_METHOD=GET REQUEST_URI="$uri" SCRIPT_NAME="${uri%%\?*}" \
		QUERY_STRING="${uri#*\?}" \
		cgi-fcgi -bind -connect "$T/sock" | sed '1,/^\r*$/d'
}
# NAME QUERY PREFIX READ WRITE
check() {
	folded "$2" | sed 's/_\[[a-z]\]//g' | LC_ALL=C sort >"$T/got"
	printf '%smain;read %s\n%smain;write %s\n' "$3" "$4" "$3" "$5" >"$T/want"
	if diff "$T/want" "$T/got" >"$T/why"; then ok "$1"; else no "$1"; fi
}
query() { echo "$1%7Bservice%3D%22$2%22%7D"; }
for i in folded packed lines trie tree speedscope; do
	check "$i" "$(query samples $i)" "" 5 7
done
check "samples of cpu are periods of 100 Hz" "$(query cpu typed)" "" 50000000 70000000
check "two files of one service add up" "$(query samples twice)" "" 10 14
check "perf script" "$(query "" perf)" "x;" 5 7
# memory in use is seen in each slot, not cut over them
check "heap_v2" "$(query inuse_objects heap_v2)" "" 5 7
check "gperftools" "$(query inuse_space gperftools)" "" 50000 70000

printf 'main;read\001 5\n' >"$T/bad"
if "$memlens" import --service x --format heap_v2 "$T/bad" "$T/store" \
	2>"$T/why"; then
	no "a broken file is refused"
elif grep -q 'bad: line 1: heap_v2/ or heap profile: expected' "$T/why"; then
	ok "a broken file is refused, by its line"
else
	no "a broken file is refused, by its line"
fi
# two counts a line, as difffolded.pl and inferno-diff-folded write them
printf 'main;read 5 10\nmain;write 7 0\nmain;new 0 4\n' >"$T/pair"
refused() {
	"$memlens" "$@" >"$T/out" 2>"$T/why" && return 1
	[ ! -s "$T/out" ] && grep -q 'two counts a line' "$T/why"
}
if "$memlens" flamegraph "$T/pair" >"$T/svg" 2>"$T/why" &&
	"$memlens" flamegraph - <"$T/pair" 2>"$T/why" |
		grep -q 'A: standard input, 12 samples;   B: ' &&
	grep -q '<title>B against A</title>' "$T/svg" &&
	grep -q '<title>write (samples: A 7 58.33%, B 0 0.00%;' "$T/svg"; then
	ok "two counts a line are drawn as a difference"
else
	no "two counts a line are drawn as a difference"
fi
if refused collapse "$T/pair" &&
	refused import --service x "$T/pair" "$T/store" &&
	refused flamegraph "$T/pair" "$T/folded" &&
	refused flamegraph --diff "$T/pair" "$T/folded"; then
	ok "and refused elsewhere"
else
	no "and refused elsewhere"
fi

# What numbers of a collapsed file are, where they are not samples.
printf 'kv 1 [000] 1.0: 10101010 cpu-clock:\n\t5 get+0x1 (/bin/kv)\n\n' \
	>"$T/perf"
said=$("$BUILD/memlens" collapse "$T/perf" 2>&1 >"$T/collapsed")
if [ "$said" = "memlens collapse: numbers are nanoseconds of cpu-clock" ] &&
	[ "$(cat "$T/collapsed")" = "kv;get 10101010" ]; then
	ok "collapse says that it counts nanoseconds"
else
	no "collapse says that it counts nanoseconds"
	echo "# $said"
	sed 's/^/# /' "$T/collapsed"
fi
said=$("$BUILD/memlens" collapse "$T/folded" 2>&1 >/dev/null)
if [ -z "$said" ]; then
	ok "and nothing of samples"
else
	no "and nothing of samples"
fi
for arguments in "--service x" "$T/folded" "--unit x --service x a b" \
	"--nonsense a b" "--from now a b"; do
	"$memlens" import $arguments >/dev/null 2>"$T/why"
	[ $? = 2 ] || no "used wrongly: $arguments"
done
if [ "$("$memlens" import --service x --type cpu "$T/heap_v2" "$T/store" 2>&1 |
	grep -c 'says itself what it counts')" = 1 ]; then
	ok "a format that says what it counts is believed"
else
	no "a format that says what it counts is believed"
fi
