#!/bin/bash
# Sampled memory over lives: a profiler that is killed and begins anew under
# load, processes that come and go, that are in another root, whose first
# thread has ended; and whose service a young one is.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
library=$BUILD/libmemlens-alloc.so
program=$dir/life_$tag
own "$BUILD/system/alloc_life" life || exit 1
chmod 755 "$dir"
now() { grep -c '^child' "$out"; }
slots() { [ "$(now)" -ge "$1" ]; }
more() { local n; n=$(now) && seen slots $((n + $1)); }
last_slot() { awk '$1 == "block" { s = $2 } END { print s }' "$out"; }

# in_use TYPE SERVICE : its sum at the end of the last whole slot
in_use() {
	grep -a "^$1 $(last_slot) " "$out" | grep -F "$2" |
		awk '{ n += $NF } END { printf "%.0f\n", n }'
}
# truth OF PID : what it says of itself when it rests
truth() {
	local n
	n=$(grep -c . "$1")
	kill -USR1 "$2"
	says_more() { [ "$(grep -c . "$dir/$name.said")" -gt "$n" ]; }
	name=$(basename "$1" .said) await 20 says_more
	tail -n 1 "$1"
}
# churn NAME COMMAND... : with the library; its pid is $last
churn() {
	: >"$dir/$1.said"
	LD_PRELOAD=$library "${@:2}" >>"$dir/$1.said" &
	last=$!
	pids="$pids $last"
}
# equal NAME PID TEXT SERVICE : the profiler's figures are the program's
equal() {
	local bytes objects
	read -r _ bytes objects <<<"$(truth "$dir/$1.said" "$2")"
	more 3
	expect "$3: bytes in use, exactly" "$(in_use inuse_space "$4"), \
it has $bytes" "$(in_use inuse_space "$4")" -eq "$bytes"
	# each stack is rounded to whole ones
	expect "$3: objects in use" "$(in_use inuse_objects "$4"), \
it has $objects / 1024" $(($(in_use inuse_objects "$4") * 1024 - objects)) \
		-le 65536 -a "$bytes" -gt 1000000
	kill -USR2 "$2"
}

begin_driver -s 500 -h 1 -y 60000 -a "$library"
seen slots 2
if ! grep -q '^allocs 1 ' "$out"; then
	end_driver
	echo "skip - $(grep '^allocs' "$out")"
	exit 77
fi
churn first "$BUILD/memlens" run "$program" churn
first=$last
more 2
expect "what memlens run executes is its own service at once" \
	"$(grep -a '^inuse_space' "$out" | grep -F life_ | tail -n 1)" \
	"$(grep -ac "^inuse_space [0-9]* life_$tag " "$out")" -gt 0
equal first "$first" "seen from its beginning" "life_$tag"
# in another PID namespace, where its number is 1
own "$BUILD/system/alloc_life" inner || exit 1
churn inner unshare -pf --kill-child "$BUILD/memlens" run "$dir/inner_$tag" \
	churn
more 2
expect "and so it is in another PID namespace" \
	"$(grep -a '^inuse_space' "$out" | grep -F "inner_$tag" | tail -n 1)" \
	"$(grep -ac "^inuse_space [0-9]* inner_$tag " "$out")" -gt 0
kill -9 "$last"

# killed, while the threads go on; then again
for i in 1 2; do
	kill -9 "$driver_pid"
	wait "$driver_pid" 2>/dev/null
	sleep 0.3
	begin_driver -s 500 -h 1 -a "$library"
	seen slots 3
done
equal first "$first" "after two kills under load" "life_$tag"

# the first thread ends
own "$BUILD/system/alloc_life" orph || exit 1
churn orphan "$dir/orph_$tag" churn orphan
orphan=$last
more 4
equal orphan "$orphan" "its first thread has ended" "orph_$tag"
# another root, in another mount namespace
own "$BUILD/system/alloc_life" root || exit 1
mkdir "$dir/newroot"
churn rooted unshare -m sh -c "mount --rbind / '$dir/newroot' &&
	exec chroot '$dir/newroot' '$dir/root_$tag' churn"
rooted=$last
more 4
equal rooted "$rooted" "in another root" "root_$tag"
kill -9 "$rooted" "$orphan" "$first"

# ---- many ----

own "$BUILD/system/alloc_life" many || exit 1
own "$BUILD/system/alloc_life" exec || exit 1
memory() { awk '/^VmRSS/ { print $2 }' "/proc/$driver_pid/status"; }
before=$(memory)
LD_PRELOAD=$library "$dir/many_$tag" short 9500 &
many=$!
LD_PRELOAD=$library "$dir/exec_$tag" short 500 "$dir/exec_$tag"
wait $many
expect "10,000 processes: status" $? $? -eq 0
more 4
# of 512 KiB an object is seen with 1 - 1/e, and counts for as much more
total() {
	grep -a "^alloc_space .*_$tag" "$out" | grep -E "(many|exec)_$tag" |
		awk '{ n += $NF } END { printf "%.0f\n", n }'
}
taken=$(total)
lost=$(awk '/^counter .*_samples_lost_total/ { n += $(NF - 1) }
	END { print n + 0 }' "$out")
true=$((20000 * 524288))
error=$(awk 'BEGIN { p = 1 - exp(-1)
	printf "%.0f", 524288 * sqrt(20000 * (1 - p) / p) }')
off=$((taken - true))
expect "10,000 processes: what they have taken" \
	"$taken of $true, error $error, lost $lost" \
	$((off < 0 ? -off : off)) -le $((4 * error)) -o "$lost" -gt 0
left=$(in_use inuse_space "many_$tag")$(in_use inuse_space "exec_$tag")
expect "and nothing of them is in use" "$left" "$left" = 00
grown=$(($(memory) - before))
expect "and nothing of them is kept ($grown KiB)" "$grown" "$grown" -le 8192
end_driver
expect "every run is accounted for" "$(grep '^balance' "$out")" \
	"$(balanced "$out" && echo yes)" = yes
