#!/bin/bash
# Processes that come one after the other wake the daemon now and then, not
# once each: it looks at them together.  Once each record was taken before
# the pause between two looks was asked for: 841 wake-ups a second.
. "$(dirname "$0")/daemon-lib.bash"
need_root "wake-ups"
cat >"$dir/conf" <<END
[store]
reserve = 0
[socket]
path = $dir/sock
END
start_daemon d -s "$dir/store"
d=$last
said "$dir/d.log" "source cpu: attached" ||
	{ echo "skip - wake-ups: $(grep "source cpu" "$dir/d.log")"; exit 77; }
begin "$dir/storm.log" bash -c 'while :; do /bin/true; done'
wakes() { awk '/^voluntary_ctxt/ { print $2 }' "/proc/$d/status"; }
# The first looks are not paused as long.
sleep 3
before=$(wakes) began=$(date +%s%N)
sleep 5
n=$(($(wakes) - before)) ms=$((($(date +%s%N) - began) / 1000000))
echo "# $n wake-ups in $ms ms"
expect_true "at most 200 wake-ups a second" test $((n * 1000)) -le $((200 * ms))
expect_true "but some" test "$n" -gt 0
end "$d"
expect "it ends well" "$status" 0
