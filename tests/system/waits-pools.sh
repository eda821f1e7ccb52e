#!/bin/bash
# What each pool of threads waits for, against what its threads say: by their
# names at that time, or by what they began with, also in waits that are too
# short for a stack, and of threads that end in the slot.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/waits.sh"
out=$dir/out
name=pools_$tag
own "$BUILD/system/pools_oracle" pools || exit 1
printf '#!/bin/sh\nexec nice -n -10 "%s" "$@"\n' "$driver" >"$dir/driver"
chmod 755 "$dir/driver"
driver=$dir/driver

begin_driver -s 1000 -w 1000
seen slots 2
noise=$(stolen)
"$dir/$name" 5000 >"$dir/true"
noise=$(($(stolen) - noise))
n=$(grep -ac '^child' "$out")
seen slots $((n + 3))
end_driver

# all_of POOL REASON : ns; below: those of them without a stack
all_of() { samples "$out" "pool=$1,process=$name,reason=$2}"; }
below() { samples "$out" "pool=$1,process=$name,reason=$2};\\[below"; }
# near NAME GOT WANT : within 1 %; a wait also has what was stolen in it
near() {
	local may=$(($3 / 100 + 10000000))
	expect "$1" "$2 ns, the program says $3 (stolen: $noise)" \
		"$2" -le $(($3 + may)) -a "$2" -ge $(($3 - may - noise))
}
# Brief threads are in their pool for a moment longer than they know.
while read -r _ pool lived cpu queued rest; do
	pattern=${pool//\*/\\*}
	set -- $rest
	while [ $# -gt 0 ]; do
		[ "$2" = 0 ] ||
			near "$pool: $1" "$(all_of "$pattern" "$1")" "$2"
		shift 2
	done
	[ "$pool" = 'brief-*' ] ||
		near "$pool: run queue" "$(all_of "$pattern" 'run queue')" \
			"$queued"
	n=$(below "$pattern" timer)
	expect "$pool: short waits have no stack" "$n ns" "$n" -gt 0
done < <(grep '^pool' "$dir/true")
