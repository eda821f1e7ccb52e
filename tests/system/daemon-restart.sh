#!/bin/bash
# SIGTERM stores the open slot; kill -9 loses at most the open one; a second
# daemon is refused; every slot is there once and nothing is left open.
. "$(dirname "$0")/daemon-lib.bash"
configure 2s 200ms

# ---- SIGTERM in the middle of a slot ----
start_daemon first -s "$dir/store" -w "$dir/rec"
while [ $(($(date +%s) % 2)) = 0 ]; do sleep 0.02; done # late in a slot
from=$(($(date +%s) / 2))
end "$last"
until=$(($(date +%s) / 2))
slot=$(slots "$dir/rec" | tail -n 1)
expect "SIGTERM: status" "$status" 0
expect_true "SIGTERM: the open slot is stored" \
	[ "$slot" -ge "$from" -a "$slot" -le "$until" ]
expect_text "SIGTERM: with readings up to the end" \
	"$(mlb "$dir/rec" | grep "^$slot counter node_context")" "'increase': [1-9]"
expect_true "SIGTERM: the socket is gone" [ ! -e "$dir/sock" ]

# ---- kill -9, and again ----
configure 500ms 200ms
rm -rf "$dir/store" "$dir/rec"
start_daemon second -s "$dir/store" -w "$dir/rec"
expect_true "kill -9: closed slots are in the recording" \
	await 60 slots_are 3 "$dir/rec"
before=$(slots "$dir/rec" | wc -l)
end "$last" KILL
start_daemon third -s "$dir/store" -w "$dir/rec"
third=$last
expect_true "after kill -9 it starts, its dead socket is replaced" [ -S "$dir/sock" ]
"$BUILD/memlensd" -f "$dir/conf" -s "$dir/store" >"$dir/other.log" 2>&1
expect "a second daemon is refused: status" $? 1
expect_text "a second daemon is refused: message" "$(cat "$dir/other.log")" "another"
expect_true "and the first one's socket is still there" [ -S "$dir/sock" ]
sed "s,^path = .*,path = $dir/sock2," "$dir/conf" >"$dir/conf2"
"$BUILD/memlensd" -f "$dir/conf2" -s "$dir/store" >"$dir/other.log" 2>&1
expect "nor with another socket: status" $? 1
expect_true "the recording goes on behind the crash" \
	await 60 slots_are $((before + 2)) "$dir/rec"
end "$third"
twice=$(mlb "$dir/rec" | awk '$3 ~ /^node_load1{/ { print $1 }' | sort | uniq -d | wc -l)
expect_true "no slot is stored twice, but the one of the crash" [ "$twice" -le 1 ]
if [ -x "$BUILD/memlens" ]; then
	out=$("$BUILD/memlens" verify -s "$dir/store" 2>&1 ||
		"$BUILD/memlens" verify "$dir/store" 2>&1)
	expect "memlens verify: status" $? 0
fi

# ---- a store keeps its slot length ----
configure 1s 1s
start_daemon longer -s "$dir/store" -w "$dir/rec3"
await 60 slots_are 2 "$dir/rec3"
end "$last"
expect_text "another slot length in the configuration: said" "$(cat "$dir/longer.log")" \
	"was made with slots of 500000000 ns, and keeps them"
expect_true "and slots are as before" [ "$(slots "$dir/rec3" | wc -l)" -ge 2 ]
