#!/bin/bash
# What workers of io_uring wait for: the disk where they sync a file, as long
# as the program itself waits for that; else work, which is idle.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/waits.sh"
out=$dir/out
oracle=uring_$tag
own "$BUILD/system/uring_oracle" uring || exit 1
of_workers() { samples "$out" "pool=iou-wrk-[^,]*,process=$oracle,$1"; }

begin_driver -s 1000 -w 1000
seen slots 2
noise=$(stolen)
said=$(nice -n -15 "$dir/$oracle" "$dir/file" 3000)
noise=$(($(stolen) - noise))
n=$(grep -c '^child' "$out")
seen slots $((n + 2))
end_driver

read -r what times ns cpu <<<"$said"
if [ "$what" != synced ]; then
	echo "skip - io_uring is $said"
	exit 77
fi
if [ "$ns" -lt 300000000 ]; then
	echo "skip - $times syncs took $ns ns: nothing to wait for here"
	exit 77
fi
disk=$(of_workers 'reason=disk}')
queued=$(of_workers 'reason=run queue}')
# Beside it workers run, wait for a CPU, and are woken.
least=$(((ns - cpu - queued) / 2 - noise))
[ "$least" -gt $((ns / 50)) ] || least=$((ns / 50))
expect "they wait for the disk" \
	"$disk ns, $times syncs took $ns, on a CPU: $cpu, queued: $queued, stolen: $noise" \
	"$disk" -le $((ns + ns / 50 + noise)) -a "$disk" -ge "$least"
expect "who waits for work is idle, but does not sync" \
	"$(of_workers 'reason=poll}') ns" \
	"$(of_workers 'reason=poll};.*;io_fsync')" = 0
