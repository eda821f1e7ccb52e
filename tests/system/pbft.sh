#!/bin/bash
# Rounds of PBFT by uprobes: replicas that replay a capture of real ones, told
# from each other, silent ones and those of other programs; over a reload, while
# the daemon is late by some slots, and from a process's first moment on.
. "$(dirname "$0")/daemon-lib.bash"
need_root "uprobes"
name=rep_${dir##*.}
name=${name:0:15}
other=not_${name:4:11}
rounds=tests/data/pbft-rounds.txt
cp "$BUILD/system/resdb_replica" "$dir/$name"
cp "$BUILD/system/resdb_replica" "$dir/$other"
strip "$dir/$other"
configure 500ms
# no rule names them: their ports tell them apart
printf '[pbft]\nprograms = nobody %s %s\n' "$name" "$other" >>"$dir/conf"
base=$((21000 + $$ % 8000))

# Stopped until they are watched: each round is to be seen.
declare -A replica
ln -s "$PWD/$rounds" "$dir/rounds4" # of another cluster
for i in 1 2 3 4; do
	[ $i = 4 ] && file=$dir/rounds4 || file=$rounds
	begin "$dir/replica$i" "$dir/$name" "$file" "$i" $((base + i))
	replica[$i]=$last
	await 30 said "$dir/replica$i" ^ready
done
start_daemon d -s "$dir/store" -w "$dir/rec"
d=$last
state() { mlb "$dir/rec" facts 2>/dev/null | grep -P '\tpbft\t' | tail -n 1; }
is() { state | grep -q "$1"; }
expect_true "the functions are found and attached to" await 30 is attached
# their processes are counted from the next look on
counts() { mlb "$dir/rec" blocks 3 2>/dev/null |
	grep -c 'pbft_rounds_total.*pre-prepare'; }
all_counted() { [ "$(counts)" -ge 4 ]; }
expect_true "each replica has zeros before its first round" \
	await 30 all_counted
for i in 1 2 3; do
	kill -USR1 "${replica[$i]}"
done
await 30 said "$dir/replica1" ^round
printf '[service unrelated]\ncomm = ^no_such$\n' >>"$dir/conf"
kill -HUP "$d"
expect_true "the configuration is read again" \
	await 60 said "$dir/d.log" "configuration reloaded"
kill -STOP "$d"
sleep 3
kill -CONT "$d"
expect_true "how long it stood still is said" await 30 said "$dir/d.log" \
	"nothing was read for [3-9] s"
passed() { said "$dir/replica1" ^pass && said "$dir/replica2" ^pass &&
	said "$dir/replica3" ^pass; }
expect_true "they go through the capture" await 60 passed
# whose rounds begin before anybody knows the process, by two names
ln "$dir/$name" "$dir/stranger"
begin "$dir/replica5" "$dir/$name" -g "$rounds" 2 $((base + 5))
replica[5]=$last
begin "$dir/stranger.out" "$dir/stranger" -g "$rounds" 3
stranger=$last
early() { said "$dir/replica5" ^pass && said "$dir/stranger.out" ^pass; }
expect_true "so do those that begin at once" await 60 early
begin "$dir/stripped" "$dir/$other" "$rounds" 1
expect_true "a stripped program is refused with its reason" \
	await 30 is "stripped"
for i in 1 2 3 4 5; do
	end "${replica[$i]}"
done
end "$stranger"
gone() { [ "$(counts)" = 0 ]; }
expect_true "who is gone has no zeros" await 30 gone
end "$d"
python3 tests/system/pbft-compare.py "$dir" "$rounds" "$base"
