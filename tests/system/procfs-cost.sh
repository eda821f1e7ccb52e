#!/bin/bash
# What the readings of /proc cost with 150 more processes, at the defaults:
# one that does nothing is not read anew each second.  Counted are reads,
# which are as many on a busy machine, in the best of some spans: programs
# that others begin are read, too.  Time is a benchmark's matter.
. "$(dirname "$0")/daemon-lib.bash"
need_root "what another process reads"
configure 10s 1s
cp "$(command -v sleep)" "$dir/snooze"
for i in $(seq 150); do begin /dev/null "$dir/snooze" 1000; done
start_daemon d -s "$dir/store"
d=$last
reads() { awk '/^syscr:/ { print $2 }' "/proc/$d/io"; }
processes() { set -- /proc/[0-9]*; echo $#; }
sleep 3
best=
# Once in its life each one's allocator is looked for, some a pass.
for i in $(seq 20); do
	before=$(reads) began=$(date +%s%N) n=$(processes)
	sleep 2
	m=$(($(reads) - before)) ms=$((($(date +%s%N) - began) / 1000000))
	more=$(processes)
	m=$((m * 100000 / ms / (n > more ? n : more)))
	[ -n "$best" ] && [ "$m" -ge "$best" ] || best=$m
	[ "$best" -gt 160 ] || break
done
expect_true "$best reads a second of 100 processes" [ "$best" -le 160 ]
expect_true "but some" [ "$best" -gt 0 ]
end "$d"
