#!/bin/bash
# What could not grow was not allocated anew, and stays with who has it: too
# large at all, or for the memory that the program may have.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
library=$BUILD/libmemlens-alloc.so
chmod 755 "$dir"
gcc -O1 -fno-builtin -o "$dir/grows_$tag" -x c - <<'END' || exit 1
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static __attribute__((noinline)) void *
keeps(size_t n)
{
	return malloc(n);
}

static __attribute__((noinline)) int
fails(void *p, size_t n)
{
	int i, failed = 0;

	for (i = 0; i < 100; i++)
		failed += realloc(p, n) == NULL;
	return failed;
}

static __attribute__((noinline)) void *
grows(void *p, size_t n)
{
	return realloc(p, n);
}

int
main(void)
{
	struct rlimit some = {1 << 30, 1 << 30};
	void *p = keeps(10000000), *q = keeps(10000000), *r = keeps(20000000);

	setrlimit(RLIMIT_AS, &some);
	printf("%d %d %d\n", fails(p, (size_t)1 << 62),
	    fails(q, (size_t)2 << 30), grows(r, 30000000) != NULL);
	fflush(stdout);
	pause();
}
END
begin_driver -s 500 -h 1 -a "$library"
now() { grep -c '^child' "$out"; }
slots() { [ "$(now)" -ge "$1" ]; }
seen slots 2
if ! grep -q '^allocs 1 ' "$out"; then
	end_driver
	echo "skip - $(grep '^allocs' "$out")"
	exit 77
fi
LD_PRELOAD=$library "$dir/grows_$tag" >"$dir/said" &
pids="$pids $!"
says() { [ -s "$dir/said" ]; }
await 20 says
expect "they failed, and one grew" "$(cat "$dir/said")" \
	"$(cat "$dir/said")" = "100 100 1"
n=$(now)
seen slots $((n + 3))
sum() { # TYPE PATTERN : of all slots, or of the last one where it is a stock
	grep -a "^$1 [0-9]* grows_$tag .*$2" "$out" | awk -v t="$1" '
		{ n[$2] += $NF; all += $NF; last = $2 }
		END { printf "%.0f\n", t ~ /^inuse/ ? n[last] : all }'
}
end_driver
n=$(sum alloc_space .)
expect "it took 70 MB" "$n" "$n" -ge 69000000 -a "$n" -le 72000000
n=$(sum alloc_space ';fails;')
expect "by no call that failed" "$n" "$n" -eq 0
n=$(sum inuse_space ';keeps;')
expect "20 MB are whose they were" "$n" "$n" -ge 19900000 -a "$n" -le 20400000
n=$(sum inuse_space ';grows;')
expect "and what grew is who grew it" "$n" "$n" -ge 29900000 -a "$n" -le 30400000
