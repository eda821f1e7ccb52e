#!/bin/bash
# Who walks in step with the clock is seen as often as he runs, not each time or
# never: his CPU time by samples within 6 standard deviations of his own.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
name=step_$tag
own "$BUILD/system/cpu_step" step
"$dir/$name" 30 >"$dir/true" &
step=$!
pids="$pids $step"
begin_driver -h 99 -s 1000
wait $step
sleep 3
end_driver
while read -r f seconds; do
	n=$(samples "$out" "^stack [0-9]+ $name .*;$f[ ;]")
	said=$(awk -v n="$n" -v want="$seconds" 'BEGIN {
		want *= 99
		off = n - want
		may = 6 * sqrt(want)
		printf "%d samples, %.0f expected: %s\n", n, want,
		    off < may && -off < may ? "fine" : "off" }')
	expect "$f" "$said" "${said##*: }" = fine
	echo "# $f: $said"
done <"$dir/true"
