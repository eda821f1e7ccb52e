#!/bin/bash
# The reader stands still until the ring is full: what is lost is counted,
# to the last sample.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
begin "$busy" 30
begin bash -c 'exec "$0" -h 8000 -s 1000 -n 12 >"$1" 2>"$2"' "$driver" \
	"$out" "$dir/err"
sleep 2
need_attached "$out"
kill -STOP "$last"
sleep 7
kill -CONT "$last"
wait "$last"
lost=$(awk '/^counter .*lost_total \[ring full\]/ { n += $(NF - 1) }
	END { print n + 0 }' "$out")
expect "a full ring is counted" "$lost" "$lost" -gt 0
if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi
