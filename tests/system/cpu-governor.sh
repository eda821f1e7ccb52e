#!/bin/bash
# With a budget that nobody could keep, the rate goes down in two steps; each
# rate is a series of its own, and no sample is lost by it.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
begin_busy 600
slow_enough() { grep -q '^block .* 52631578$' "$out"; }
sample_until slow_enough -s 1000 -b 1
for period in 10101010 20408163 52631578; do
	n=$(awk -v p="$period" '/^block / && $4 == p' "$out" | wc -l)
	expect "a series of period $period" "$n blocks" "$n" -ge 1
done
other=$(awk '/^block / && $4 != 10101010 && $4 != 20408163 &&
	$4 != 52631578' "$out" | head -n 1)
expect "no series of another period" "$other" -z "$other"
marks=$(grep -c '^fact rate [14]9 Hz: ' "$out")
expect "each change is a mark" "$marks marks" "$marks" = 2
rate=$(awk '/^gauge .*profile_rate_hertz/ { n = $NF } END { print n }' "$out")
expect "the rate is a series" "$rate" "$rate" = 19
used=$(awk '/^gauge .*profile_used_ratio/ { n = $NF } END { print n + 0 }' \
	"$out")
expect "what is used is a series" "$used" "$used" -gt 0
# "ended 2 sampling at ...: 0.12 % used" is of the last reading
apart=$(awk '/^gauge .*profile_used_ratio/ { last = $NF / 10000 }
	/^ended .*sampling at 19 Hz .*% used$/ { said = $(NF - 2) }
	END {
		apart = said - last
		if (said == "")
			print "nothing said"
		else if (apart > 0.02 || apart < -0.02)
			print said " is not " last
		else
			print "no"
	}' "$out")
expect "the reason says what is used now" "$apart" "$apart" = no
if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi

# What a tick counts for is the clock's alone.
sample_until slow_enough -s 1000 -b 1 -f 256
last=$(awk '/^block / { last = $2 } END { print last }' "$out")
mixed=$(awk -v last="$last" '/^block / && $2 == last {
	n[$4 % 1048576 == 0]++ } END { print n[0] + 0, n[1] + 0 }' "$out")
expect "memory that is touched keeps a period of its own" \
	"$mixed blocks of the clock and of it in the last slot" \
	"${mixed% *}" -gt 0 -a "${mixed#* }" -gt 0
