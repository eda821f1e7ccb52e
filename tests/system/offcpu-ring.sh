#!/bin/bash
# Waits without number leave room in the ring for the samples of the clock,
# while nobody reads it.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
own "$BUILD/system/offcpu_storm" storm || exit 1
slots() { [ "$(grep -ac '^child' "$out")" -ge "$1" ]; }
printf '#!/bin/sh\nexec nice -n -10 "%s" "$@"\n' "$driver" >"$dir/driver"
chmod 755 "$dir/driver"
driver=$dir/driver

begin_driver -s 500 -w 10
seen slots 2
begin "$dir/storm_$tag" 500 3000 >/dev/null
sleep 1
kill -STOP "$driver_pid"
sleep 0.5
kill -CONT "$driver_pid"
wait "$last"
n=$(grep -ac '^child' "$out")
seen slots $((n + 2))
end_driver
lost=$(grep -a '^counter .*\[ring full\]' "$out" |
	awk '{ n += $(NF - 1) } END { print n + 0 }')
expect "there were more waits than the ring has room for" "$lost" "$lost" -gt 0
expect "next to no sample of the clock was lost" "$(grep -a '^balance' "$out")" \
	"$(awk '/^balance/ { print $4 * 25 <= $2 }' "$out")" = 1

# A reader that is late, and waits enough to fill the ring many times over
# meanwhile, but no more than it can take up in all: 40,000 a second.
begin_driver -s 500 -w 10 -z 100
seen slots 2
begin "$dir/storm_$tag" 200 3000 5000 >/dev/null
wait "$last"
n=$(grep -ac '^child' "$out")
seen slots $((n + 2))
end_driver
read -r lost runs < <(awk '
	/^counter .*\[ring full\]/ { lost += $(NF - 1) }
	/^counter .*profile_runs_total/ { runs += $(NF - 1) }
	END { print lost + 0, runs + 0 }' "$out")
expect "a late reader has more waits than the ring holds" "$runs" \
	"$runs" -gt 10000
# Of all programs' waits those of some us are lost first: 5 ms are far from it.
all=$(samples "$out" "process=storm_$tag,reason=timer}")
short=$(samples "$out" "process=storm_$tag,reason=timer};\\[below")
held=$(awk '/^counter .*\[held full\]/ { n += $(NF - 1) }
	END { print n + 0 }' "$out")
if [ "$held" -gt 0 ] && [ $((short * 100)) -gt "$all" ]; then
	echo "skip - and next to none of those of 5 ms is lost: slots are" \
		"closed too late, the machine is too busy"
else
	expect "and next to none of those of 5 ms is lost" \
		"$short of $all ns have no stack; $lost lost of $runs" \
		"$all" -gt 0 -a $((short * 100)) -le "$all"
fi
