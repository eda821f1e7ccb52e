#!/bin/bash
# What the readings of /proc cost with 150 more processes, at the defaults:
# less than 1 % of one CPU.
. "$(dirname "$0")/daemon-lib.bash"
configure 10s 1s
cp "$(command -v sleep)" "$dir/snooze"
for i in $(seq 150); do begin /dev/null "$dir/snooze" 1000; done
start_daemon d -s "$dir/store"
d=$last
ticks() { awk '{ print $14 + $15 }' "/proc/$d/stat"; }
sleep 1
before=$(ticks)
sleep 20
cost=$(($(ticks) - before))
expect_true "${cost}0 ms in 20 s" [ "$cost" -lt 20 ]
end "$d"
