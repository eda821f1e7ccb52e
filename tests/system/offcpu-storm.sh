#!/bin/bash
# 500 threads on one mutex, with stacks of all waits from 10 us on, and a
# profiler that does not read the ring while they end: the threshold rises, what
# has no stack is marked, and no time of any thread is missing.
#
# STORM_MS: how long it lasts, 6,000; READ=yes: the ring is read meanwhile.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
storm=storm_$tag
own "$BUILD/system/offcpu_storm" storm || exit 1
slots() { [ "$(grep -ac '^child' "$out")" -ge "$1" ]; }
thresholds() { # in ns, as they were in force one after the other
	awk '/^gauge .*memlens_profile_threshold_seconds/ { print $NF }' "$out"
}
raised() { thresholds | awk '$1 > 20000 { n++ } END { exit !n }'; }
rss() { awk '/^VmHWM/ { print $2 }' "/proc/$driver_pid/status"; }

begin_driver -s 500 -w 10 -W 10000
seen slots 2
before=$(rss)
"$dir/$storm" 500 "${STORM_MS:-6000}" >"$dir/true" &
program=$!
seen raised
expect "the threshold is raised in a storm" "$(thresholds | xargs)" \
	"$(thresholds | sort -n | tail -n 1)" -ge 20000
# Until it has ended, nobody reads the ring.
[ -n "${READ:-}" ] || kill -STOP "$driver_pid"
wait $program
kill -CONT "$driver_pid"
n=$(grep -ac '^child' "$out")
seen slots $((n + 4))
after=$(rss)
# Half of the levels that it went up: who else waits much keeps it from more.
peak=$(thresholds | sort -n | tail -n 1)
lowered() { [ "$(thresholds | tail -n 1)" -le $((peak / 2)) ]; }
SEEN_SECONDS=20 seen lowered && calm=1 || calm=
end_driver
read -r _ least most < <(grep ^lived "$dir/true")
echo "# $(grep ^switches "$dir/true"), thresholds $(thresholds | uniq | xargs)"
all=$(grep -a "^time [0-9]* $storm " "$out" |
	awk '{ n += $NF } END { printf "%.0f\n", n }')
# A process that begins is for a moment what it was before it.
expect "no time of its threads is missing" "$all ns of $least to $most" \
	"$all" -ge $((least - least / 1000)) -a \
	"$all" -le $((most + most / 1000 + 100000000))
expect "what has no stack is marked" "$(grep -ac 'below threshold' "$out")" \
	"$(samples "$out" ",process=$storm,reason=[a-z ]*};\\[below")" -gt 0
lost=$(grep -a '^counter .*\[\(ring\|held\) full\]' "$out" |
	awk '{ n += $(NF - 1) } END { print n + 0 }')
# With a threshold that is high enough, nothing need be.
marked=$(samples "$out" "below threshold, or no stack")
expect "and what the ring had no room for is counted" \
	"$lost lost, $marked ns are marked so" \
	$((lost > 0)) -ge $((marked > 0)) \
	-a $((marked > 0)) -ge $((lost > 1000)) # some may be of the clock
expect "memory is bounded" "$before kB, then $after" \
	$((after - before)) -le 65536
grep -aq '^fact rate stacks of waits from' "$out" &&
	ok "a mark says so" || not_ok "a mark says so" "$(grep -a '^fact' "$out")"
if [ -n "$calm" ]; then
	expect "it is lowered in calm, with marks" \
		"$(thresholds | uniq | xargs)" \
		"$(grep -ac '^fact rate stacks of waits from' "$out")" -ge 2
else
	echo "skip - it is lowered in calm: the machine is not calm"
fi
