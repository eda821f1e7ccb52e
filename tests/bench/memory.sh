#!/bin/bash
# What the profile of page faults costs at 100,000 faults a second: of a program
# that touches so many pages, in CPU time a second, right after a run of it
# without anything; and what the profiler takes more than right before, when
# the others of the host alone had faults.
#
#   memory.sh BUILD [ROUNDS [SECONDS]]
#
# Rows are medians of such pairs; the order within one is drawn anew.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=$(cd "${1:?folder of the build}" && pwd)
rounds=${2:-9} seconds=${3:-4} rate=100000
[ "$(id -u)" = 0 ] || { echo "skip - memory: needs root"; exit 0; }
. tests/bench/lib.sh
dir=$(mktemp -d)
mkdir "$dir/log"
trap end_all EXIT

# % of a CPU that touching takes, and faults a second
touch_pages() {
	"$BUILD/bench/memory_touch" "$seconds" $rate |
		awk -v s="$seconds" '{ print $2 / s * 100, $1 / s }'
}
ticks() { # user and system time of a process and its children so far
	awk '{ sub(/.*\) /, ""); print $12 + $13 + $14 + $15 }' "/proc/$1/stat"
}
# with : the same beside the profiler, and ticks that it takes more than before
with() {
	local before between child touched
	stdbuf -oL "$BUILD/system/cpu_driver" -c -k -s 1000 -n 1000 -f 256 \
		>"$dir/said" 2>&1 &
	driver=$!
	pids+=("$driver")
	for _ in $(seq 300); do
		grep -q '^time 2\|^child' "$dir/said" && break
		sleep 0.1
	done
	touch_pages >/dev/null # its names and rows have been read
	sleep 2
	child=$(pgrep -P $driver | head -n 1)
	profiler() { echo $(($(ticks $driver) + ${child:+$(ticks "$child")} + 0)); }
	before=$(profiler)
	sleep "$seconds"
	between=$(profiler)
	touched=$(touch_pages)
	echo "$touched" $(($(profiler) - 2 * between + before))
	kill $driver
	wait $driver 2>/dev/null
}

for ((i = 0; i < rounds; i++)); do
	if ((RANDOM % 2)); then
		with >"$dir/with" && touch_pages >"$dir/without"
	else
		touch_pages >"$dir/without" && with >"$dir/with"
	fi
	paste -d' ' "$dir/with" "$dir/without" | awk -v s="$seconds" \
		-v hz="$(getconf CLK_TCK)" '{ print $1 - $4, $3 / hz / s * 100,
		$1 - $4 + $3 / hz / s * 100, $4, $5 }' >>"$dir/pairs"
done
# middle COLUMN : the median
middle() {
	awk -v c="$1" '{ print $c }' "$dir/pairs" | sort -g |
		awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
}
of() { awk -v c="$1" '{ print $c }' "$dir/pairs" | spread; }
row memory_faults_rate "$(middle 5)" faults/s
SPREAD=$(of 1) row memory_faults_program "$(middle 1)" "% of a CPU" \
	without "$(middle 4)"
SPREAD=$(of 2) row memory_faults_profiler "$(middle 2)" "% of a CPU"
SPREAD=$(of 3) row memory_faults_both "$(middle 3)" "% of a CPU" goal 0.4
