#!/bin/bash
# Histograms of waits for a CPU against /proc/PID/schedstat: two programs on one
# CPU.
. "$(dirname "$0")/daemon-lib.bash"
need_root "BPF"
name=rq_${dir##*.}
name=${name:0:15}
cp "$(readlink -f /bin/sh)" "$dir/$name"
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
configure 500ms
# Who tells of executed programs is there for profiles.
printf '[faults]\nenabled = yes\n' >>"$dir/conf"
printf '[disk]\nenabled = yes\nrun-queue = yes\n' >>"$dir/conf"
start_daemon d -s "$dir/store" -w "$dir/rec"
d=$last
expect "it is attached" "$(grep -c 'source run queue: attached' "$dir/d.log")" 1
# They begin when their service is known.
for i in 1 2; do
	mkfifo "$dir/go$i"
	begin "$dir/p$i" taskset -c "$cpu" "$dir/$name" -c \
		'read go <"$0"; i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done; kill -STOP $$' \
		"$dir/go$i"
	programs[i]=$last
done
expect_true "their service is known" await 60 has "$dir/rec" "groupname=\"*$name"
echo >"$dir/go1"
echo >"$dir/go2"
both() { [ "$(grep -l '^State:.T' "/proc/${programs[1]}/status" "/proc/${programs[2]}/status" | wc -l)" = 2 ]; }
expect_true "both have run" await 60 both
cat "/proc/${programs[1]}/schedstat" "/proc/${programs[2]}/schedstat" >"$dir/true"
until=$(($(date +%s) * 2 + 2))
behind() { [ "$(slots "$dir/rec" 2>/dev/null | tail -n 1)" -gt "$until" ]; }
await 60 behind
end "${programs[1]}" KILL
end "${programs[2]}" KILL
end "$d"
read -r ns n < <(awk '{ ns += $2; n += $3 } END { printf "%.0f %d\n", ns, n }' "$dir/true")
python3 tests/system/histogram-compare.py "$dir/rec" run_queue_seconds "$name" \
	"$n" $((ns - ns / 100)) $((ns + ns / 100))
