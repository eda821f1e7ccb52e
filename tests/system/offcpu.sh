#!/bin/bash
# Where threads wait, against what they have measured themselves: each reason's
# time, by each way of taking stacks, and that no time is missing.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/waits.sh"
out=$dir/out
oracle=oracle_$tag
own "$BUILD/system/offcpu_oracle" oracle || exit 1
# The slots are short: names and the ring must be served in time beside what
# else the machine does.
printf '#!/bin/sh\nexec nice -n -10 "%s" "$@"\n' "$driver" >"$dir/driver"
chmod 755 "$dir/driver"
driver=$dir/driver

# all_of POOL REASON, below POOL REASON : ns, and those without a stack
all_of() { samples "$out" "pool=$1,process=$oracle,reason=$2}"; }
below() { samples "$out" "pool=$1,process=$oracle,reason=$2};\\[below"; }
# near NAME GOT WANT CALLS NOISE : within 1 % and 3 ms; and a switch's own time
# is a thread's CPU time on one of its sides
near() {
	local may=$(($3 / 100 + 3000000 + $4 * 20000))
	expect "$1" "$2 ns, the program says $3 (calls: $4, stolen: $5)" \
		"$2" -le $(($3 + may)) -a "$2" -ge $(($3 - may - $5))
}

run() { # WAY MS
	local way=$1 began ended least most n all reason pool want calls noise
	local from to
	begin_driver -s 1000 -w 1000 -o "$way"
	seen slots 2
	from=$(wc -l <"$out")
	began=$(date +%s%N)
	noise=$(stolen)
	"$dir/$oracle" "$2" "$dir" >"$dir/true"
	ended=$(date +%s%N)
	noise=$(($(stolen) - noise))
	to=$(wc -l <"$out")
	n=$(grep -ac '^child' "$out")
	seen slots $((n + 3))
	end_driver
	lost=
	lossless "$from" "$to" || lost="events were lost"
	expect "$way: waits are taken" "$(grep -a '^waits' "$out")" \
		"$(grep -ac '^waits 1' "$out")" = 1
	while read -r _ pool reason want calls; do
		[ "$reason" != - ] || continue
		near "$way: $pool waits for: $reason" \
			"$(all_of "$pool" "$reason")" "$want" "$calls" "$noise"
	done < <(grep ^waited "$dir/true")
	all=$(grep -a "^time [0-9]* $oracle " "$out" |
		awk '{ n += $NF } END { printf "%.0f\n", n }')
	read -r _ least most < <(grep ^lived "$dir/true")
	# The first thread has lived for at most as long as the program.
	most=$((most + ended - began))
	expect "$way: no time is missing" "$all ns of $least to $most" \
		"$all" -ge $((least - least / 1000)) -a \
		"$all" -le $((most + most / 1000))
	# In its first slot it was what began it for a while.
	awk -v of="$oracle" '$1 == "time" && $3 == of && !first { first = $2 }
		first && $2 > first' "$out" >"$dir/later"
	n=$(grep -a "^time [0-9]* $oracle " "$dir/later" |
		grep -v '\[on cpu\]' |
		awk '{ n += $NF } END { printf "%.0f\n", n }')
	all=$(samples "$dir/later" ",process=$oracle,reason=")
	expect "$way: the profile has all that is not on a CPU" \
		"$all of $n" "$all" -ge $((n - 100000)) \
		-a "$all" -le $((n + 100000)) -a "$n" -gt 0
}

# stacked NAME SAID TEST... : an expectation of what has a stack, which a lost
# event may have had: of too many, the short ones are lost first
stacked() {
	if [ -n "$lost" ] && ! [ "${@:3}" ]; then
		echo "skip - $1: $lost, the machine is too busy"
	else
		expect "$@"
	fi
}

# Both ways in turn; no wait may be told by both.
run auto 4000
n=$(samples "$out" "pool=locker,.*reason=lock};.*;wants_the_lock;.*futex_wait")
all=$(all_of locker lock)
# Those of a program's beginning have no table yet.
yet=$(samples "$out" \
	"pool=locker,.*reason=lock};\\[(no unwind table yet|new code)\\]")
stacked "the lock's waits are where they are" "$n ns of $all, $yet: too early" \
	"$n" -gt 0 -a $(((n + yet) * 100)) -ge $((all * 95))
short=$(below locker lock)
stacked "long waits have stacks" "$short ns of $all have none" \
	$((short * 20)) -le "$all"
n=$(below shortly timer) all=$(all_of shortly timer)
expect "short ones have none" "$n ns of $all" $((n * 2)) -gt "$all"
n=$(samples "$out" "pool=long,.*reason=timer};.*;sleeps_long;.*nanosleep")
stacked "a wait of several slots has its stack in each" "$n ns" \
	"$n" -ge 2500000000
n=$(samples "$out" "pool=rival-\\*,.*reason=run queue}")
stacked "rivals for a CPU wait for it" "$n ns" "$n" -ge 1500000000
run back 1500
n=$(samples "$out" "pool=locker,.*reason=lock};.*;wants_the_lock;.*futex_wait")
stacked "a tracepoint at each switch does as well" "$n ns" "$n" -gt 0
run leave 4000
n=$(samples "$out" "pool=(sleeper|poller|piper),.*reason=.*;begin;")
stacked "some waits' stacks are taken as threads leave" "$n ns" "$n" -gt 0
