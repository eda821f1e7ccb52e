#!/bin/bash
# On a CPU, waiting for one, blocked and below the threshold are together the
# life of a thread, to 0.1 %: of programs that run, sleep, hand over as fast as
# they can, execute themselves (by another thread than the first one, too), whose
# threads and children end all the time, and that are stopped.  In each slot,
# too.  tests/bench/identity.sh does it for ten minutes (SPAN_MS, SLOT_MS, MODES).
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/waits.sh"
out=$dir/out
slot=${SLOT_MS:-1000}
modes=${MODES:-burn sleep switch exec exec2 die fork} stopped=${STOPPED:-switch}
modes="$modes stop"
for mode in $modes; do
	own "$BUILD/system/identity_oracle" "$mode" || exit 1
done
printf '#!/bin/sh\nexec nice -n -10 "%s" "$@"\n' "$driver" >"$dir/driver"
chmod 755 "$dir/driver"
driver=$dir/driver

begin_driver -s "$slot" -w 1000
seen slots 1
noise=$(stolen)
for mode in $modes; do
	what=$mode
	[ "$mode" != stop ] || what=$stopped
	"$dir/${mode}_$tag" "$what" "${SPAN_MS:-4500}" >"$dir/true.$mode" &
	program=$!
	pids="$pids $program"
done
while kill -STOP "$program" 2>/dev/null; do
	sleep 0.3
	kill -CONT "$program"
	sleep 0.4
done
wait $program
all_said() { [ "$(cat "$dir"/true.* | grep -c ^lived)" = "$(wc -w <<<"$modes")" ]; }
await 30 all_said
noise=$(($(stolen) - noise))
n=$(grep -c '^child' "$out")
SEEN_SECONDS=$((240 + slot / 200)) seen slots $((n + 2))
end_driver

# spent MODE [STATE] : ns in that state, or in all
spent() {
	awk -v of="$1_$tag" -v state="${2:-}" '$1 == "time" && $3 == of &&
		index($0, state) { n += $NF } END { printf "%.0f\n", n }' "$out"
}
# within NAME GOT LEAST MOST MAY
within() {
	expect "$1" "$2 ns of $3 to $4, +- $5 (stolen: $noise)" \
		"$2" -ge $(($3 - $5)) -a "$2" -le $(($4 + $5))
}
for mode in $modes; do
	read -r _ least most cpu queued before <"$dir/true.$mode"
	may=$((most / 1000))
	within "$mode: all states are its life" "$(spent "$mode")" "$least" \
		"$most" $((may + 5000000))
	may=$((may + noise + 15000000))
	within "$mode: on a CPU" "$(spent "$mode" '[on cpu]')" "$cpu" "$cpu" $may
	[ "$queued" -lt 0 ] || within "$mode: waiting for one" \
		"$(spent "$mode" '[run queue]')" $((queued - before)) "$queued" $may
done
# Of a slot that is closed more than half a slot late, a part is the next one's.
for mode in ${modes%% *} sleep exec; do
	read -r slots right all < <(awk -v of="${mode}_$tag" -v ms="$slot" '
		$1 == "time" && $3 == of {
			ns[$2] += $NF / ms / 1000000
			if (!first || $2 < first) first = $2
			if ($2 > last) last = $2
		}
		END { for (s = first + 1; s < last; s++) {
				n++
				all += ns[s]
				right += ns[s] > 0.999 && ns[s] < 1.001
			}
			printf "%d %d %.6f\n", n, right, all }' "$out")
	expect "$mode: each slot has all of its length" \
		"$all of $slots slots, $right of them right" "$slots" -ge 2 \
		-a $((right * 2)) -ge "$slots" -a "$(awk -v a="$all" \
		-v n="$slots" 'BEGIN { d = a / n - 1
		print (d < 0.001 && d > -0.001) }')" = 1
done
