#!/bin/bash
# Memory by the preloaded library, against a program that knows what it has:
# what 8 threads asked for and keep, what is short-lived, children of a fork,
# a program that is executed, and what lives when we begin.
. "$(dirname "$0")/lib/cpu.sh"
. tests/system/lib/allocs.sh
out=$dir/out
oracle=alloc_$tag
library=$BUILD/libmemlens-alloc.so
own "$BUILD/system/alloc_oracle" alloc || exit 1
mkfifo "$dir/steps"
slots() { [ "$(grep -c '^child' "$out")" -ge "$1" ]; }
now() { grep -c '^child' "$out"; }
more() { local n; n=$(now) && seen slots $((n + $1)); }

# of TYPE FUNCTION [SLOT] : the sum of its stacks
of() {
	grep -aF "$oracle" "$out" | awk -v type="$1" -v slot="${3-}" -v from="$cold" \
		-v end=";$2;(operator[^;]*;)?[[][a-z]* of [^;]*$" '
		$1 == type && (slot == "" || $2 == slot) && $2 > from &&
		    $0 ~ end { n += $NF }
		END { printf "%.0f\n", n }'
}
# The last whole slot of the stock.
last_slot() { awk '$1 == "block" { s = $2 } END { print s }' "$out"; }

# within NAME GOT TRUE SIGMA : three standard errors, and what rounding adds.
# Of many figures one may be between three and four.
beyond=0 less=1
within() {
	local off=$(($2 - $3)) error
	error=$(awk -v e="$4" -v less="$less" 'BEGIN { printf "%d", e * less }')
	((off = off < 0 ? -off : off))
	if ((off > 3 * error + 64 && off <= 4 * error + 64 && beyond == 0)); then
		beyond=1
		echo "# $1: $2 of $3, error $error: the one between 3 and 4"
	else
		expect "$1" "$2, but it is $3, one standard error $error" \
			"$off" -le $((3 * error + 64))
	fi
}

# compare STEP : all functions' totals, and what is in use
compare() {
	local slot
	slot=$(last_slot)
	less=$(sampled_less "$out")
	echo "# errors are $less times those of intervals of 512 KiB"
	while read -r _ f bytes objects error kept n kept_error; do
		if [ "$1" = taken ]; then
			within "$f: bytes" "$(of alloc_space "$f")" "$bytes" "$error"
			within "$f: objects, each of the mean size" \
				"$(($(of alloc_objects "$f") * (bytes / objects)))" \
				"$bytes" $((error + bytes / 20))
		fi
		within "$1: $f: bytes in use" "$(of inuse_space "$f" "$slot")" \
			"$kept" "$kept_error"
		within "$1: $f: objects in use" \
			"$(($(of inuse_objects "$f" "$slot") * (kept / (n + !n))))" \
			"$kept" $((kept_error + kept / 20))
	done < <(grep "^$1 " "$dir/true")
}
steps() { [ "$(grep -c "^$1 " "$dir/true")" -eq 8 ]; }

begin_driver -s 1000 -h 1 -a "$library"
seen slots 2
if ! grep -q '^allocs 1 ' "$out"; then
	end_driver
	echo "skip - $(grep '^allocs' "$out")"
	exit 77
fi
exec 9<>"$dir/steps"
LD_PRELOAD=$library setsid "$dir/$oracle" 10 "$dir/steps" >"$dir/true" &
pids="$pids $!"
cold=0
await 60 steps warm
more 3
cold=$(last_slot)
echo on >&9
await 120 steps taken
more 3
compare taken
for f in takes_small takes_medium; do
	expect "$f: short-lived and in use are all" \
		"$(of short_space $f) and $(of inuse_space $f "$(last_slot)")" \
		"$(of alloc_space $f)" -eq \
		$(($(of short_space $f) + $(of inuse_space $f "$(last_slot)")))
done

echo on >&9
await 60 steps forked
more 2
another=$(of inuse_space begin_another "$(last_slot)")
more 8
compare forked
within "a child of a fork holds its own" \
	"$(of inuse_space child_takes "$(last_slot)")" 25000000 3500000
expect "what a program held goes when it executes another one" \
	"$another, then $(of inuse_space begin_another "$(last_slot)")" \
	"$another" -gt 20000000 -a \
	"$(of inuse_space begin_another "$(last_slot)")" -eq 0

echo on >&9
await 60 steps given
more 3
compare given
lost=$(awk '/^counter .*_samples_lost_total/ && $NF > 0' "$out" | sort -u)
expect "nothing is lost" "$lost" -z "$lost"

# A new profiler takes over what lives.
kept=$(awk '/^given/ { n += $6 } END { print n }' "$dir/true")
before=$(awk -v s="$(last_slot)" -v o="$oracle" '$1 == "inuse_space" &&
	$2 == s && index($0, o) { n += $NF } END { print n + 0 }' "$out")
end_driver
expect "every run is accounted for" "$(grep '^balance' "$out")" \
	"$(balanced "$out" && echo yes)" = yes
begin_driver -s 1000 -h 1 -a "$library"
seen slots 4
after=$(awk -v s="$(last_slot)" -v o="$oracle" '$1 == "inuse_space" &&
	$2 == s && index($0, o) { n += $NF } END { print n + 0 }' "$out")
# One object may have come before its process was known; some stood for others,
# where the ring was half full.
expect "what lives is taken over" \
	"$after, before it $before; $kept of them of the functions" \
	$((after - before)) -ge 0 -a $((after - before)) -le 3000000 -o \
	$((after - before)) -le $((before / 10)) -a \
	$((before - after)) -le $((before / 10))
echo on >&9
gone() { ! pgrep -f "$dir/$oracle" >"$dir/left"; }
await 30 gone
more 6
expect "what a process holds goes with it" "$(grep -a "^inuse_space $(
	last_slot) .*$oracle" "$out")" -z "$(
	grep -a "^inuse_space $(last_slot) .*$oracle" "$out")"
end_driver
