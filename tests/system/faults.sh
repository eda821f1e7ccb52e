#!/bin/bash
# Memory that is touched, by code and kind, against the program's own count of
# its page faults.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
oracle=faults_$tag
period=256
own "$BUILD/system/faults_oracle" faults || exit 1
truncate -s $((64 << 20)) "$dir/file"

slots() { [ "$(grep -c '^child' "$out")" -ge "$1" ]; }
begin_driver -s 1000 -h 1 -f $period
seen slots 2
"$dir/$oracle" "$dir/file" 40 >"$dir/true" || exit 1
n=$(grep -c '^child' "$out")
seen slots $((n + 3))
end_driver

# Samples are a lot: three times the root of their number may be too much.
while read -r _ function kind faults; do
	want=$((faults / period))
	got=$(samples "$out" "reason=$kind}.*;$function")
	other=$(($(samples "$out" "reason=[a-z]*}.*;$function") - got))
	expect "$function: $kind, as many as the program's faults" \
		"$got samples of $period faults; it says $faults, that is $want" \
		$(((got - want) * (got - want))) -le $((9 * want + 25)) -o \
		"$function" = floods
	expect "$function: of no other kind" "$other of $((got + other))" \
		$((other * 50)) -le "$got"
	# Of many in a row a part has stacks, which stands for the others.
	expect "$function: what is left out of a flood is not lost" \
		"$got samples of $period faults; it says $faults, that is $want" \
		$((got * 5)) -ge $((want * 4)) -a \
		$((got * 5)) -le $((want * 6 + 200))
done <"$dir/true"
n=$(grep -F "$oracle" "$out" | grep -c '^stack .*reason=anonymous}.*;floods')
expect "a flood has been sampled less often" "$n lines" "$n" -gt 0
expect "a sample is so many pages" "$(grep '^block' "$out" | sort -k4 -u)" \
	"$(awk '/^block/ && $4 == '$((period * 4096))' { print "yes"; exit }' \
	"$out")" = yes
