#!/bin/bash
# Rights after start are exactly the table's; without rights, and without
# setrlimit, the daemon runs and says what is missing.
. "$(dirname "$0")/daemon-lib.bash"
need_root "the daemon's rights"
configure 500ms 500ms
mask() { sed -n "s/^$2:\t//p" "/proc/$1/status"; }

# SYS_PTRACE 19, SYSLOG 34, PERFMON 38, BPF 39, CHECKPOINT_RESTORE 40,
# DAC_READ_SEARCH 2, as far as we have them ourselves.
ours=$(mask self CapPrm)
# And SYS_ADMIN 21 where perf events ask for it.
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo 0)
want=$(printf '%016x' $(((1 << 19 | 1 << 34 | 1 << 38 | 1 << 39 | 1 << 40 | 1 << 2 |
	(paranoid > 2) << 21) & 0x$ours)))
start_daemon root -s "$dir/store"
for set in CapEff CapPrm CapBnd; do
	expect "$set is the table" "$(mask "$last" $set)" "$want"
done
expect "CapInh is empty" "$(mask "$last" CapInh)" 0000000000000000
expect "CapAmb is empty" "$(mask "$last" CapAmb)" 0000000000000000
expect "NoNewPrivs" "$(mask "$last" NoNewPrivs)" 1
threads=
for t in /proc/"$last"/task/*; do
	got=$(sed -n 's/^CapEff:\t//p' "$t/status" 2>/dev/null)
	[ "$got" = "$want" ] || [ ! -e "$t" ] || threads="$threads $t"
done
expect "in every thread" "$threads" ""
end "$last"

# ---- as nobody ----
# A build may lie where only root can go.
chmod 777 "$dir"
install -m 755 "$BUILD/memlensd" "$dir/memlensd"
begin "$dir/nobody.log" setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all \
	-- prlimit --nofile=256:256 --memlock=0:0 -- \
	"$dir/memlensd" -f "$dir/conf" -s "$dir/nobody" -w "$dir/rec"
nobody=$last
ready "$dir/nobody.log" || not_ok "it starts" "$(cat "$dir/nobody.log")"
expect_text "what is missing is said, with the reason" "$(cat "$dir/nobody.log")" \
	"without CAP_SYS_PTRACE: no reading /proc/PID/io"
await 60 has "$dir/rec" node_cpu_seconds_total
end "$nobody"
expect "status" "$status" 0
expect_text "procfs measures all the same" "$(mlb "$dir/rec")" "node_cpu_seconds_total"

# ---- a source that cannot be had is a state ----
sed -i 's/^enabled = no/enabled = yes/' "$dir/conf"
begin "$dir/cpu.log" setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all -- \
	"$dir/memlensd" -f "$dir/conf" -s "$dir/nobody2" -w "$dir/rec2"
nobody=$last
ready "$dir/cpu.log" || not_ok "it starts without BPF" "$(cat "$dir/cpu.log")"
await 60 has "$dir/rec2" num_procs
end "$nobody"
expect_text "the log says why" "$(cat "$dir/cpu.log")" "source cpu: not attached: "
expect_text "so does a fact" "$(mlb "$dir/rec2" facts)" "2.cpu.not attached: "
expect_text "and what is seen in part only" "$(mlb "$dir/rec2" facts)" \
	"2.procfs.degraded: I/O and descriptors"
expect_text "beside the others" "$(mlb "$dir/rec2" facts)" "2.self.attached"
