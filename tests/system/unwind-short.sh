#!/bin/bash
# A program without frame pointers that is executed 33 times a second and lives
# for 8 ms of CPU each: gone before anybody could read its mappings.  Its stacks
# are whole all the same, with names, after the first seconds.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
out=$dir/out
depth=12

# Half of it in the program, half in a library of its own.
cat >"$dir/work.c" <<'END'
volatile unsigned long long in_work;
__attribute__((noinline)) void work_library(unsigned long rounds)
{
	while (rounds-- > 0)
		in_work = in_work * 25214903917u + 11;
}
void library(unsigned long rounds)
{
	work_library(rounds);
	in_work++;
}
END
{
	cat <<-'END'
	#include <time.h>
	void library(unsigned long);
	volatile unsigned long long sum;
	#define FN __attribute__((noinline)) static void
	static int over(void)
	{
		struct timespec t;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
		return t.tv_sec > 0 || t.tv_nsec > 8000000;
	}
	FN work(void)
	{
		for (int i = 0; i < 100000; i++)
			sum = sum * 25214903917u + 11;
	}
	END
	echo "FN f$depth(void) { while (!over()) { work(); library(100000); } }"
	for ((i = depth - 1; i >= 0; i--)); do
		echo "FN f$i(void) { f$((i + 1))(); sum++; }"
	done
	echo 'int main(void) { f0(); return sum == 1; }'
} >"$dir/short.c"
# Anew each 30 ms, whatever the last ones do.
cat >"$dir/begin.c" <<'END'
#include <spawn.h>
#include <time.h>
#include <sys/wait.h>
int main(int argc, char **argv)
{
	char *none[] = {argv[1], 0}, *empty[] = {0};
	struct timespec next;
	pid_t pid;
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (; argc == 2;) {
		if (posix_spawn(&pid, argv[1], 0, 0, none, empty) != 0)
			return 1;
		next.tv_nsec += 30000000;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, 0);
		while (waitpid(-1, 0, WNOHANG) > 0)
			;
	}
	return 2;
}
END
name=short_$tag
gcc -O2 -fomit-frame-pointer -fPIC -shared -o "$dir/work_$tag.so" \
	"$dir/work.c" &&
	gcc -O2 -fomit-frame-pointer -o "$dir/$name" "$dir/short.c" \
	"$dir/work_$tag.so" && gcc -O2 -o "$dir/begin_$tag" "$dir/begin.c" ||
	{ not_ok "compiles"; exit 1; }
begin "$dir/begin_$tag" "$dir/$name"

# behind PATTERN : samples of the program from 3 s after its first one on
behind() {
	grep -F "process=$name" "$out" | P=$1 awk '/^stack / {
		if (first == "") first = $2
		if ($2 >= first + 3 && $0 ~ ENVIRON["P"]) n += $NF
	} END { print n + 0 }'
}
plenty() { [ "$(behind .)" -ge ${SHORT_SAMPLES:-300} ]; }
begin_driver -h 99 -s 1000
seen plenty
end_driver
all=$(behind .)
# Where it works, once it has begun to; and all but what execve(2) and exit(2)
# take, where no user code is.
worked=$(behind ';(work|work_library|library|f12)( |;)')
chain=$(printf ';f%s' $(seq 0 $depth))
whole=$(behind "};_start;[^ ]*;main$chain;(work|library;work_library)( |;)")
unnamed=$(behind "(short|work)_$tag[^;]*[+]0x")
echo "# of $all: $whole of $worked at work whole, $unnamed without names"
# What the rest is, for whoever reads this: mostly code before main(), and a
# child that has not executed the program yet.
grep -F "process=$name" "$out" | sed -n 's/.*}[^;]*;\(\[[^];]*\]\).* \([0-9]*\)$/\1\t\2/p' |
	awk -F'\t' '{ n[$1] += $2 } END { for (m in n) print "# " n[m], m }'
expect "most are at work" "$worked of $all" $((worked * 2)) -ge "$all"
# 3 of 100 may lack their records or rows on a busy machine, and three standard
# errors of that.
within() {
	awk -v n="$1" -v p="$2" -v bad="$3" \
		'BEGIN { exit !(bad <= n * p + 3 * sqrt(n * p * (1 - p))) }'
}
if within "$worked" 0.03 $((worked - whole)); then ok "97 % of them are whole"
else not_ok "97 % of them are whole" "$whole of $worked"; fi
if within "$all" 0.01 "$unnamed"; then ok "99 % have names"
else not_ok "99 % have names" "$unnamed of $all"; fi
