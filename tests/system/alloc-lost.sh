#!/bin/bash
# The profiler stands still while programs take and give back memory, until the
# ring is full: what is in use is exact again at the end of a slot, from the
# library's table, whichever of both it was not told of.
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

cat >"$dir/storm.c" <<'END'
#include <stdlib.h>

int
main(int argc, char **argv)
{
	for (int i = argc < 2 ? 0 : atoi(argv[1]); i > 0; i--) {
		char *p = malloc(1 << 20);

		*(volatile char *)p = 1;
		free(p);
	}
}
END
gcc -O1 -fno-builtin -o "$dir/storm" "$dir/storm.c" || exit 1

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
LD_PRELOAD=$library "$dir/storm" 100000
sleep 1
kill -CONT "$driver_pid"
lost() { awk '/^counter .*_samples_lost_total \[ring full\]/ { n += $(NF - 1) }
	END { print n + 0 }' "$out"; }
loss_is_told() { [ "$(lost)" -gt 0 ]; }
seen loss_is_told
kill -USR1 "$churns"
says() { [ -s "$dir/said" ]; }
await 20 says
more 3
read -r _ bytes objects <"$dir/said"
echo "# $(lost) were lost, $objects / 1024 objects live"
expect "what is in use is exact after a loss" "$(in_use ""), it has $bytes" \
	"$(in_use "")" -eq "$bytes" -a "$bytes" -gt 1000000
end_driver
expect "every run is accounted for" "$(grep '^balance' "$out")" \
	"$(balanced "$out" && echo yes)" = yes
