#!/bin/bash
# The profiler stands still while programs take and give back memory, until the
# ring is full: what is in use is exact again at the end of a slot, from the
# library's table, whichever of both it was not told of.  And who asked for it is
# known, though there is no room for copies of the stacks of a program that
# nobody has met yet.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
library=$BUILD/libmemlens-alloc.so
program=$dir/lost_$tag
own "$BUILD/system/alloc_life" lost || exit 1
chmod 755 "$dir"
now() { grep -c '^child' "$out"; }
slots() { [ "$(now)" -ge "$1" ]; }
more() { local n; n=$(now) && seen slots $((n + $1)); }
last_slot() { awk '$1 == "block" { s = $2 } END { print s }' "$out"; }
in_use() {
	grep -a "^inuse_space $(last_slot) " "$out" | grep -F "lost_$tag$1" |
		awk '{ n += $NF } END { printf "%.0f\n", n }'
}

storm=$dir/storm_$tag
cat >"$dir/storm.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void
storms(int n)
{
	for (; n > 0; n--) {
		char *p = malloc(1 << 20);

		*(volatile char *)p = 1;
		free(p);
	}
}

int
main(int argc, char **argv)
{
	storms(argc < 2 ? 0 : atoi(argv[1]));
	puts("over");
	fflush(stdout);
	pause();
}
END
gcc -O1 -fno-builtin -fomit-frame-pointer -o "$storm" "$dir/storm.c" || exit 1

begin_driver -s 500 -h 1 -y 60000 -a "$library"
seen slots 2
if ! grep -q '^allocs 1 ' "$out"; then
	end_driver
	echo "skip - $(grep '^allocs' "$out")"
	exit 77
fi
LD_PRELOAD=$library "$program" churn >"$dir/said" &
churns=$!
pids="$pids $churns"
more 3
kill -STOP "$driver_pid"
LD_PRELOAD=$library "$storm" 100000 >"$dir/over" &
pids="$pids $!"
is_over() { [ -s "$dir/over" ]; }
await 60 is_over
sleep 1
kill -CONT "$driver_pid"
lost() { awk '/^counter .*_samples_lost_total \[ring full\]/ { n += $(NF - 1) }
	END { print n + 0 }' "$out"; }
loss_is_told() { [ "$(lost)" -gt 0 ]; }
seen loss_is_told
kill -USR1 "$churns"
says() { [ -s "$dir/said" ]; }
await 20 says
read -r _ bytes objects <"$dir/said"
# a busy machine has slots to close that were over before it said so
is_exact() { [ "$(in_use "")" = "$bytes" ]; }
SEEN_SECONDS=20 seen is_exact
echo "# $(lost) were lost, $objects / 1024 objects live"
expect "what is in use is exact after a loss" "$(in_use ""), it has $bytes" \
	"$(in_use "")" -eq "$bytes" -a "$bytes" -gt 1000000
# What the storm asked for, by stack, and how much of it is its function's.
grep -a '^alloc_space ' "$out" | grep -F "storm_$tag" >"$dir/took"
sum() { awk '{ n += $NF } END { printf "%.0f\n", n }'; }
all=$(sum <"$dir/took")
own=$(grep -aF ';storms;[malloc of ' "$dir/took" | sum)
expect "the storm is seen" "$all" "$all" -gt 1000000000
expect "and all of it as its function's" "$own of $all, and $(grep -avF \
	';storms;[malloc of ' "$dir/took" | head -n 3)" "$own" -eq "$all"
end_driver
expect "every run is accounted for" "$(grep '^balance' "$out")" \
	"$(balanced "$out" && echo yes)" = yes
