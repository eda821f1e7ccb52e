#!/bin/bash
# A database's lock that nobody gives back before a time limit ends the wait:
# it is a lock's all the same, also where no signal ever came.  Who gives one
# back has had all of it waited for, also what looks for deadlocks have cut, and
# nothing of another wait.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/waits.sh"
out=$dir/out
oracle=latch_$tag
own "$BUILD/system/latch_oracle" latch || exit 1

# of TYPE PATTERN : the sum of this type's stacks of the program that match
of() {
	awk -v type="$1" -v service="$oracle" -v p="$2" \
		'$1 == type && index($0, service) && $0 ~ p { n += $NF }
		END { printf "%.0f\n", n }' "$out"
}
measure() {
	local from to n
	begin_driver -s 1000 -w 1500 -l
	seen slots 3
	from=$(wc -l <"$out")
	"$dir/$oracle" >"$dir/true"
	to=$(wc -l <"$out")
	n=$(grep -c '^child' "$out")
	seen slots $((n + 3))
	end_driver
	lossless "$from" "$to"
}
if ! measure && ! measure && ! measure; then
	echo "skip - events were lost, the machine is too busy"
	exit 77
fi
given=$(sed -n 's/^ProcLockWakeup;//p' "$dir/true")
want=$(($(sed -n 's/^ProcSleep;//p' "$dir/true") + given))
stack='reason=database[}].*;ProcSleep;database lock '
n=$(of lock "$stack")
expect "what no holder ends is a lock's" "$n of $want ns" \
	"$n" -ge $((want * 97 / 100)) -a "$n" -le "$want"
n=$(of lock_waits "$stack")
expect "each wait is counted" "$n of 8" "$n" = 8
n=$(of lock_holder 'reason=database[}].*;ProcLockWakeup;database lock ')
expect "who ends the last has all of them" "$n of $given ns" \
	"$n" -ge $((given * 97 / 100)) -a "$n" -le "$given"
n=$(of lock 'serves')
expect "polls for work are none" "$n ns" "$n" = 0
n=$(of stack 'reason=lock[}].*;ProcSleep;')
expect "as among all waits" "$n of $want ns" \
	"$n" -ge $((want * 97 / 100)) -a "$n" -le "$want"
