#!/bin/bash
# The mean of what is in use weighs the slot in which the daemon stops by how
# long it was there.
. "$(dirname "$0")/daemon-lib.bash"
need_root "slots that are seen in part"
configure 3s 500ms
start_daemon one -s "$dir/store"
daemon=$last
begin "$dir/fcgi.log" "$BUILD/memlens-fcgi" -s "$dir/store" -l "$dir/fcgi" -p all

cc -O1 -o "$dir/holds_brief" tests/system/lib/alloc_holds.c || exit 1
mkfifo "$dir/in" "$dir/out"
LD_PRELOAD=$BUILD/libmemlens-alloc.so "$dir/holds_brief" \
	<"$dir/in" >"$dir/out" 2>"$dir/holds.log" &
pids+=("$!")
exec {to}>"$dir/in" {from}<"$dir/out"
read -r -t 60 _ <&"$from"

ask() { # FROM UNTIL : what is in use, on average
	local query="query=inuse_space%7Bservice=%22holds_brief%22%7D&from=$1&until=$2"

	REQUEST_METHOD=GET REQUEST_URI="/api/v1/flamegraph.json?$query" \
		QUERY_STRING="$query" cgi-fcgi -bind -connect "$dir/fcgi" \
		2>/dev/null | sed '1,/^\r*$/d' | jq -r .flamebearer.numTicks
}
until_time() { sleep "$(awk -v t="$1" -v n="$EPOCHREALTIME" 'BEGIN { print (t > n ? t - n : 0) }')"; }

first=$(((${EPOCHREALTIME%%.*} / 3 + 1) * 3)) # of three slots
until_time $((first + 6))
echo >&"$to" && read -r -t 60 _ <&"$from"
until_time $((first + 6)).8
stopped=$EPOCHREALTIME
end "$daemon"
gone=$EPOCHREALTIME
expect "the daemon has ended in the middle of a slot" $status 0

a=$(ask $first $((first + 3)))
b=$(ask $((first + 3)) $((first + 6)))
c=$(ask $((first + 6)) $((first + 9)))
all=$(ask $first $((first + 9)))
# it was told to stop then, and did before that
read -r least most < <(awk -v a="$first" -v s="$stopped" -v g="$gone" \
	'BEGIN { print (s - a - 6) / 3, (g - a - 6) / 3 }')
echo "# $a, $b, and $c for $least to $most of a slot: $all"
expect_true "two slots have 20 MiB, the third 220" awk -v a="$a" -v b="$b" -v c="$c" \
	'BEGIN { m = 1048576; exit !(a > 19 * m && a < 30 * m && b > 19 * m && b < 30 * m && c > 219 * m) }'
expect_true "the third weighs as much of a slot as was seen" awk -v a="$a" -v b="$b" \
	-v c="$c" -v p="$least" -v q="$most" -v all="$all" '
	function mean(part) { return (a + b + part * c) / (2 + part) }
	BEGIN { exit !(all > 0.97 * mean(p) && all < 1.03 * mean(q)) }'
