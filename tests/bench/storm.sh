#!/bin/bash
# 1,000 short processes a second, 500 threads, libraries, pids in use again:
# what the daemon takes, and whether it takes more and more.  Most of the
# processes are a program without a library, begun without a copy of its
# parent's memory: that is what a machine of two CPUs can do so often.
#
#   storm.sh BUILD [SECONDS]      two minutes, if nothing is said
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=$(cd "${1:?folder of the build}" && pwd)
seconds=${2:-120}
. tests/bench/lib.sh
. tests/system/daemon-lib.bash
. tests/system/lib/storm.sh
storm_configure
storm_compile && start_daemon d -s "$dir/store" -w "$dir/rec" || exit 1
d=$last
said "$dir/d.log" "source cpu: attached" || { cat "$dir/d.log"; exit 1; }
processes() { find /proc -maxdepth 1 -name '[1-9]*' 2>/dev/null | wc -l; }
before=$(($(descriptors "$d") - $(processes)))
cat >"$dir/tiny.c" <<'END'
volatile unsigned sum;
void _start(void)
{
	for (int i = 0; i < 20000; i++)
		sum = sum * 1664525 + 1;
	__asm__ volatile("syscall" : : "a"(231), "D"(0));
	__builtin_unreachable();
}
END
cat >"$dir/spawn.c" <<'END'
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv) /* RATE SECONDS PROGRAM */
{
	char *none[] = {argv[3], 0}, *empty[] = {0};
	long made = 0, step = 1000000000 / atol(argv[1]);
	struct timespec now, next;
	time_t end;
	pid_t pid;
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (end = next.tv_sec + atol(argv[2]);; ) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec >= end)
			break;
		if (now.tv_sec > next.tv_sec + 1)
			next = now; /* too slow: no rush afterwards */
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, 0);
		made += posix_spawn(&pid, argv[3], 0, 0, none, empty) == 0;
		next.tv_nsec += step;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		while (waitpid(-1, 0, WNOHANG) > 0)
			;
	}
	printf("processes %ld\n", made);
	return argc != 4;
}
END
gcc -O2 -static -nostdlib -o "$dir/tiny" "$dir/tiny.c" &&
	gcc -O2 -o "$dir/spawn" "$dir/spawn.c" || exit 1
storm_begin "$seconds" 100 500
begin "$dir/fork3" "$dir/spawn" 900 "$seconds" "$dir/tiny"
# The least and the most in each fifth; the first one is warming up.  What the
# sealing and merging of files needs is given back, so a leak shows in the
# least.
fifth=$((seconds / 5)) failed=0 fifths= peak_kb=0
for i in 1 2 3 4 5; do
	storm_watch "$d" $fifth
	fifths="$fifths $least_rss_kb-$most_rss_kb"
	((most_rss_kb <= peak_kb)) || peak_kb=$most_rss_kb
	((i != 2 && i != 3)) || ((least_rss_kb <= ${early_kb:-0})) ||
		early_kb=$least_rss_kb
	[ $i != 2 ] || early_fds=$most_descriptors
done
echo "kB in each fifth:$fifths; descriptors $early_fds, $most_descriptors"
sleep 10
kill -0 "$d" || { echo "the daemon has ended"; exit 1; }
calm=$(($(descriptors "$d") - $(processes)))
end "$d"
[ "$status" = 0 ] || failed=1
storm_balance
made=$(cat "$dir"/fork[123] | awk '{ n += $2 } END { print n + 0 }')
row storm_processes $((made / seconds)) 1/s asked 1000
row storm_rss_most "$peak_kb" kB
row storm_rss_least "$least_rss_kb" kB "second fifth and third" "$early_kb"
row storm_descriptors "$most_descriptors" descriptors "second fifth" \
	"$early_fds"
row storm_samples "$runs" samples
row storm_lost "$(total samples_lost)" samples samples "$runs"
row storm_unaccounted "$unaccounted" samples samples "$runs"
# Those whose process nobody knows any more.
of_service() { awk -v s="$1" '$2 == s { n += $NF } END { print n + 0 }' \
	"$dir/all"; }
row storm_exited "$(of_service "(exited)")" samples samples "$runs"
if ((least_rss_kb > early_kb + 4096 || peak_kb > 65536)); then
	echo "memory grows, or is over 64 MB"
	failed=1
fi
# The daemon keeps the file stat of each living process open.
if ((calm > before + 100)); then
	echo "descriptors leak: $before before, $calm after"
	failed=1
fi
((unaccounted == 0)) ||
	{ echo "samples are not accounted for"; failed=1; }
exit $failed
