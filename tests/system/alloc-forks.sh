#!/bin/bash
# A service that forks for each of its requests holds no more while another
# program fills the ring: who has ended has nothing, though the daemon is not
# told of it yet when it reads the tables of those that live.
. "$(dirname "$0")/lib/cpu.sh"
. tests/system/lib/allocs.sh
out=$dir/out
library=$BUILD/libmemlens-alloc.so
chmod 755 "$dir"
cat >"$dir/forks.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static __attribute__((noinline)) void *
put(size_t n)
{
	return malloc(n);
}

/* 80 objects of 600,000 bytes at most, 20 a child. */
static void
child(void)
{
	static void *all[20];
	int i;

	for (i = 0; i < 20; i++)
		all[i] = put(600000);
	usleep(100000);
	_exit(all[19] == NULL);
}

static void *
storm(void *arg)
{
	static __thread void *all[250];
	unsigned i;

	for (i = 0;; i++) {
		free(all[i % 250]);
		all[i % 250] = put(1 << 20);
		if (i % 20 == 0)
			usleep(1000);
	}
	return arg;
}

int
main(int argc, char **argv)
{
	pthread_t t;
	int i;

	(void)argv;
	for (i = 0; argc > 1 && i < 4; i++)
		pthread_create(&t, NULL, storm, NULL);
	if (argc > 1)
		pause();
	for (;;) {
		for (i = 0; i < 4; i++)
			if (fork() == 0)
				child();
		while (wait(NULL) > 0)
			continue;
	}
}
END
gcc -O1 -fno-builtin -pthread -o "$dir/forks_$tag" "$dir/forks.c" || exit 1
cp "$dir/forks_$tag" "$dir/storm_$tag"

now() { grep -c '^child' "$out"; }
slots() { [ "$(now)" -ge "$1" ]; }
more() { local n; n=$(now) && seen slots $((n + $1)); }
# what the service has, slot by slot, behind slot $1
has() {
	grep -a "^inuse_space [0-9]* forks_$tag " "$out" | awk -v from="$1" '
		$2 > from { n[$2] += $NF }
		END { for (s in n) printf "%d %.0f\n", s, n[s] }' | sort -n
}
last_slot() { awk '$1 == "block" { s = $2 } END { print s + 0 }' "$out"; }

begin_driver -s 1000 -h 1 -a "$library"
seen slots 2
if ! grep -q '^allocs 1 ' "$out"; then
	end_driver
	echo "skip - $(grep '^allocs' "$out")"
	exit 77
fi
begin env LD_PRELOAD="$library" "$dir/forks_$tag"
more 4
begin env LD_PRELOAD="$library" "$dir/storm_$tag" storm
more 2
from=$(last_slot)
more 8
end_driver
echo "# $(has "$from" | cut -d' ' -f2 | tr '\n' ' ')"
# 48 MB, and five standard errors of what is not picked
n=$(has "$from" | awk -v less="$(sampled_less "$out" "forks_$tag")" \
	'$2 > 48000000 + 18500000 * less' | wc -l)
expect "it has what lives, beside a storm" "$n slots with more" "$n" -eq 0
n=$(has "$from" | wc -l)
expect "and is told of in each slot" "$n slots" "$n" -ge 6
