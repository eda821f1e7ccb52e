#!/bin/bash
# What the profile of page faults costs at 100,000 faults a second, alone: a
# program that touches so many pages switches the profiler's events on and off
# in turn, and takes the differences of what it needs itself (the kernel counts
# and the probe runs in it) and of what the profiler needs.
#
#   memory.sh BUILD [SECONDS]
#
# The program's by phases of 20 ms, SECONDS of them; the profiler's by those of
# a second, half as long.  The pairs are dealt out to blocks, of each of which
# the tenth at either end is left out (others' interrupts); a row is the mean
# of the blocks', with their spread.  Others' faults count too: a quiet machine.
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=${2:-100} rate=100000 blocks=9
. tests/bench/lib.sh
begin_as_root "$@"

# One sample of a clock a second, which is nothing, and page faults.
stdbuf -oL "$BUILD/system/cpu_driver" -k -h 1 -s 1000 -n 1000000 -f 256 \
	>"$dir/said" 2>"$dir/log/driver" &
driver=$!
pids+=("$driver")
for _ in $(seq 300); do
	grep -q '^child' "$dir/said" && break
	sleep 0.1
done
"$BUILD/bench/memory_touch" 4 $rate >"$dir/first" # names and rows are read
# in_turn SECONDS PHASE_MS FILE
in_turn() {
	"$BUILD/bench/memory_touch" "$1" $rate "$2" $driver \
		$(children $driver) >"$3" ||
		{ echo "memory: $(tail -n 1 "$dir/log/driver")"; exit 1; }
}
in_turn "$seconds" 20 "$dir/short"
in_turn $((seconds / 2)) 1000 "$dir/long"
echo "$(wc -l <"$dir/short") and $(wc -l <"$dir/long") pairs" >&2
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
paste "$dir/program" "$dir/profiler" | awk '{ print $1 + $2 }' >"$dir/both"
row memory_faults_rate "$(awk '{ print $1 / 4 }' "$dir/first")" faults/s
SPREAD=$(spread <"$dir/program") row memory_faults_program \
	"$(mean <"$dir/program")" "% of a CPU" \
	without "$(middles "$dir/short" 1 0 | mean)"
SPREAD=$(spread <"$dir/profiler") row memory_faults_profiler \
	"$(mean <"$dir/profiler")" "% of a CPU"
SPREAD=$(spread <"$dir/both") row memory_faults_both \
	"$(mean <"$dir/both")" "% of a CPU" goal 0.4
