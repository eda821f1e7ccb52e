#!/bin/bash
# Sums over the processes of a service against an independent reader of
# /proc: CPU, I/O, faults, switches, memory; births and deaths.
. "$(dirname "$0")/daemon-lib.bash"
need_root "readings of other users' processes"
seconds=${SECONDS_OF_TEST:-20} slot=${SLOT_OF_TEST:-1}
configure "${slot}s" 1s
# names of this run alone: others may run the same programs
tag=${dir##*.}
snooze=snz_${tag: -8}
cat >>"$dir/conf" <<END
[services]
show-arguments = yes
[service burn]
command = /tmp\.$tag/burn\.py /
[service sleepers]
comm = ^$snooze\$
END
cat >"$dir/burn.py" <<'END'
"""Burns some CPU, writes, faults; children are born, and end with it."""
import mmap, os, sys, time
end = time.time() + float(sys.argv[2])
kids = 0
parent = os.getppid()
while time.time() < end and os.getppid() == parent:
    t = time.time()
    while time.time() < t + 0.03:
        pass
    with open(sys.argv[1], 'wb') as f:
        f.write(b'x' * 300000)
        f.flush()
        os.fsync(f.fileno())
    m = mmap.mmap(-1, 1 << 20)
    for i in range(0, 1 << 20, 4096):
        m[i] = 1
    m.close()
    time.sleep(0.05)
    if sys.argv[3] == 'parent' and kids < 4:
        kids += 1
        if os.fork() == 0:
            os.execvp(sys.executable, [sys.executable, sys.argv[0],
                sys.argv[1] + str(kids), sys.argv[2], 'child'])
END
cp "$(command -v sleep)" "$dir/$snooze"
for i in $(seq 120); do begin /dev/null "$dir/$snooze" 1000; done
start_daemon d -s "$dir/store" -w "$dir/rec"
d=$last
begin "$dir/burn.log" python3 "$dir/burn.py" "$dir/out" $((seconds + 2 * slot + 300)) parent
# all five are at work, in their own program's name, and were seen
five() { [ "$(pgrep -fc "$dir/burn.py $dir/out")" = 5 ]; }
seen_five() {
	mlb "$dir/rec" blocks 3 2>/dev/null | grep 'num_procs{groupname="burn"' |
		tail -n 1 | grep -q "'last': 5"
}
await 120 five
await 120 seen_five
python3 tests/system/procfs-reader.py "$dir/readings" "$seconds" "$dir/burn.py" "$slot"
until=$(($(date +%s) / slot + 1))
behind() { [ "$(slots "$dir/rec" | tail -n 1)" -gt "$until" ]; }
await 120 behind
end "$d"
python3 tests/system/procfs-check.py "$dir/rec" "$dir/readings"
expect_text "120 sleepers are one service" "$(mlb "$dir/rec" blocks 3 |
	grep 'num_procs{groupname="sleepers"' | tail -n 1)" "'last': 120"
