#!/bin/bash
# What the profile of page faults costs at 100,000 faults a second, alone: a
# program that touches so many pages, before all else that wants its CPU,
# switches the profiler's events on and off in turn, and takes the differences
# of what it needs itself (the kernel counts) and of what the profiler needs.
#
#   memory.sh BUILD [SECONDS]
#
# The program's by phases of 20 ms, SECONDS of them; the profiler's by those of
# a second, half as long.  The pairs are dealt out to blocks, of each of which
# the tenth at either end is left out; a row is the mean of the blocks', with
# their spread.  What the probe takes is the kernel's own count of its time,
# which is for the most part not in the program's milliseconds that count.  And
# what the kernel's part of it costs that program, without any profiler: its
# count of page faults (perf stat), and an event that would sample them, and
# never comes to it (perf record).
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=${2:-100} rate=100000 blocks=9
. tests/bench/lib.sh
begin_as_root "$@"

stdbuf -oL "$BUILD/system/cpu_driver" -c -h 1 -s 1000 -n 1000000 -f 256 \
	>"$dir/said" 2>"$dir/log/driver" &
driver=$!
pids+=("$driver")
for _ in $(seq 300); do
	grep -q '^child' "$dir/said" && break
	sleep 0.1
done
"$BUILD/bench/memory_touch" 4 $rate >"$dir/first" # names and rows are read
# in_turn SECONDS PHASE_MS FILE [PID]: PID's events, else the driver's
in_turn() {
	chrt -f 1 "$BUILD/bench/memory_touch" "$1" $rate "$2" \
		${4:-$driver $(children $driver)} >"$3" ||
		{ echo "memory: $(tail -n 1 "$dir/log/driver")"; exit 1; }
}
# probe WHAT : run_time_ns or run_cnt of the driver's programs
probe() {
	cat /proc/$driver/fdinfo/* 2>/dev/null |
		awk -v what="$1:" '$1 == what { n += $2 } END { print n + 0 }'
}
stats=$(sysctl -n kernel.bpf_stats_enabled)
sysctl -q kernel.bpf_stats_enabled=1
before=$(probe run_time_ns) runs=$(probe run_cnt)
in_turn "$seconds" 20 "$dir/short"
took=$(($(probe run_time_ns) - before)) runs=$(($(probe run_cnt) - runs))
sysctl -q kernel.bpf_stats_enabled="$stats"
in_turn $((seconds / 2)) 1000 "$dir/long"
kill $driver
wait $driver
# kernels WHAT COMMAND... : the same with the events of that command
kernels() {
	"${@:2}" >"$dir/log/perf" 2>&1 &
	pids+=("$!")
	sleep 1
	in_turn $((seconds / 2)) 20 "$dir/$1" "${pids[-1]}"
	kill -INT "${pids[-1]}"
	wait "${pids[-1]}"
}
kernels counted perf stat -a -e page-faults
kernels event perf record -a -e page-faults -c 1000000000 -o /dev/null
echo "$(wc -l <"$dir/short") and $(wc -l <"$dir/long") pairs, $runs runs" >&2
[ -z "${KEEP:-}" ] || cp "$dir"/short "$dir"/long "$KEEP"
# middles FILE COLUMN FROM : the mean of the differences to the column FROM, 0:
# of none, in each block
middles() {
	local b
	for ((b = 0; b < blocks; b++)); do
		awk -v c="$2" -v from="$3" -v b=$b -v of=$blocks '
			NR % of == b { print $c - (from ? $from : 0) }' "$1" |
			sort -g | awk '{ v[NR] = $1 } END {
				for (i = int(NR / 10) + 1; i <= NR - int(NR / 10); i++) {
					sum += v[i]
					n++
				}
				if (n) print sum / n
			}'
	done
}
mean() { awk '{ n += $1 } END { if (NR) printf "%.4f\n", n / NR }'; }
middles "$dir/short" 2 1 >"$dir/program"
middles "$dir/long" 4 3 >"$dir/profiler"
percent=$(awk -v ns="$took" -v s="$seconds" 'BEGIN { print ns / (s / 2 * 1e9) * 100 }')
paste "$dir/program" "$dir/profiler" |
	awk -v p="$percent" '{ print $1 + $2 + p }' >"$dir/both"
row memory_faults_rate "$(awk '{ print $1 / 4 }' "$dir/first")" faults/s
SPREAD=$(spread <"$dir/program") row memory_faults_program \
	"$(mean <"$dir/program")" "% of a CPU" \
	without "$(middles "$dir/short" 1 0 | mean)"
for what in counted event; do
	middles "$dir/$what" 2 1 >"$dir/kernel"
	SPREAD=$(spread <"$dir/kernel") row memory_faults_kernel_$what \
		"$(mean <"$dir/kernel")" "% of a CPU" \
		without "$(middles "$dir/$what" 1 0 | mean)"
done
row memory_faults_probe "$percent" "% of a CPU"
SPREAD=$(spread <"$dir/profiler") row memory_faults_profiler \
	"$(mean <"$dir/profiler")" "% of a CPU"
SPREAD=$(spread <"$dir/both") row memory_faults_both \
	"$(mean <"$dir/both")" "% of a CPU" goal 0.4
