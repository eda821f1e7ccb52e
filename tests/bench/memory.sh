#!/bin/bash
# What the profile of page faults costs at 100,000 faults a second, alone: a
# program that touches so many pages switches the profiler's events on and off,
# second by second, and takes the differences of what it needs itself (the
# probe runs in it) and of what the profiler needs.
#
#   memory.sh BUILD [SECONDS]
#
# Rows are medians of such pairs.  Others' faults count too: a quiet machine.
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=${2:-60} rate=100000
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
"$BUILD/bench/memory_touch" "$seconds" $rate $driver $(children $driver) \
	>"$dir/pairs" || { echo "memory: $(tail -n 1 "$dir/log/driver")"; exit 1; }
samples=$(awk '/^counter .* samples_total/ { n += $(NF - 1) } END { print n + 0 }' "$dir/said")
echo "$(wc -l <"$dir/pairs") pairs, $samples samples" >&2

awk '{ print $2 - $1, $4 - $3, $2 - $1 + $4 - $3, $1 }' "$dir/pairs" >"$dir/cost"
# middle COLUMN : the median
middle() {
	awk -v c="$1" '{ print $c }' "$dir/cost" | sort -g |
		awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
}
of() { awk -v c="$1" '{ print $c }' "$dir/cost" | spread; }
row memory_faults_rate "$(awk '{ print $1 / 4 }' "$dir/first")" faults/s
SPREAD=$(of 1) row memory_faults_program "$(middle 1)" "% of a CPU" \
	without "$(middle 4)"
SPREAD=$(of 2) row memory_faults_profiler "$(middle 2)" "% of a CPU"
SPREAD=$(of 3) row memory_faults_both "$(middle 3)" "% of a CPU" goal 0.4
