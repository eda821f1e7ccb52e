#!/bin/bash
# The daemon stands still over ends of slots, as a busy host lets it: each slot
# has its part of what grew meanwhile, and none has more CPU time than there
# was.
. "$(dirname "$0")/daemon-lib.bash"
configure 1s 200ms
cp "$(command -v bash)" "$dir/procfs_late"
begin /dev/null "$dir/procfs_late" -c 'while :; do :; done'
start_daemon d -s "$dir/store" -w "$dir/rec"
d=$last
await 120 slots_are 3 "$dir/rec"
# From the middle of a slot to that of the fourth one after it.
python3 -c 'import time; time.sleep(1.4 - time.time() % 1)'
kill -STOP "$d"
from=$(date +%s)
sleep 4.1
kill -CONT "$d"
behind() { [ "$(slots "$dir/rec" | tail -n 1)" -gt $((from + 5)) ]; }
await 120 behind
end "$d"
# Seconds of all modes of all CPUs, and of a program that always runs.
PYTHONPATH=tests/system python3 - "$dir/rec" "$from" "$(nproc)" <<'END'
import sys
import mlb

begin, cpus = int(sys.argv[2]), int(sys.argv[3])
host, busy = {}, {}
for b in mlb.batches(open(sys.argv[1], 'rb').read()):
    for s, slot, block in b.blocks:
        name = mlb.key(s)
        for sums, part in ((host, 'node_cpu_seconds_total{'), (
                busy, 'namegroup_cpu_seconds_total{groupname="procfs_late"')):
            if part in name:
                sums[slot] = sums.get(slot, 0) + (block['increase'] /
                                                  10 ** s['scale'])
for name, sums, low, high in (('the host', host, 0.8 * cpus, 1.2 * cpus),
                              ('a program', busy, 0.05, 1.2)):
    got = [round(sums.get(begin + i, 0), 2) for i in range(5)]
    good = all(low <= x <= high for x in got)
    print(f"{'ok' if good else 'not ok'} - each slot has its part of {name}:"
          f" {got} of {cpus if sums is host else 1} s")
END
