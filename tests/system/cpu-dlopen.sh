#!/bin/bash
# Libraries come and go in one process, at addresses that change and are taken
# by others: no stack names a function of one that was not there, every sample
# is accounted for.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out

# Each burns for a while in a function of its own.  The first two are alike to
# the byte but for names; the third is larger.
for l in one two three; do
	cat >"$dir/$l.c" <<-END
	#include <time.h>
	volatile unsigned long long in_$l;
	$([ $l = three ] && echo 'char unused[70000] = "x";
	int before(int x) { return x * unused[x]; }')
	__attribute__((noinline)) void work_$l(long ns)
	{
		struct timespec a, b;
		clock_gettime(CLOCK_MONOTONIC, &a);
		do {
			for (int i = 0; i < 1000; i++)
				in_$l = in_$l * 25214903917u + 11;
			clock_gettime(CLOCK_MONOTONIC, &b);
		} while ((b.tv_sec - a.tv_sec) * 1000000000 +
		    b.tv_nsec - a.tv_nsec < ns);
	}
	END
	gcc -O2 -g0 -shared -fPIC -o "$dir/lib$l.so" "$dir/$l.c" || exit 1
done
# A thread for each library: the thread's name, which is part of each sample,
# says which one there is, for they take turns.  Holes of changing size make
# addresses change; without one the next library takes the last one's place.
cat >"$dir/come_and_go.c" <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
static const char *const names[] = {"one", "two", "three"};
static const char *folder, *tag; /* tag: of this test's and way's threads */
static long ms;
static unsigned long turn;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;
static void use(const char *name)
{
	char text[4096];
	void *library;
	void (*fn)(long);
	snprintf(text, sizeof(text), "%s/lib%s.so", folder, name);
	library = dlopen(text, RTLD_NOW);
	snprintf(text, sizeof(text), "work_%s", name);
	if (library == NULL || (*(void **)&fn = dlsym(library, text)) == NULL)
		exit(1);
	fn(ms * 1000000);
	if (dlclose(library) != 0)
		exit(1);
}
static void make_hole(void)
{
	static size_t size;
	static void *hole;
	if (size != 0)
		munmap(hole, size);
	size = (1 + turn % 50) * 4096;
	hole = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static void *take_turns(void *arg)
{
	size_t i = (size_t)arg;
	char text[16];
	snprintf(text, sizeof(text), "%s%s", tag, names[i]);
	prctl(PR_SET_NAME, text);
	sleep(2); /* until the name is known */
	for (;;) {
		pthread_mutex_lock(&lock);
		while (turn % 3 != i)
			pthread_cond_wait(&next, &lock);
		use(names[i]);
		if (++turn % 4 == 0)
			make_hole();
		pthread_cond_broadcast(&next);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t;
	folder = argv[1];
	ms = argc > 3 ? atol(argv[2]) : 0;
	tag = argv[3];
	for (size_t i = 0; i < 3; i++)
		if (pthread_create(&t, NULL, take_turns, (void *)i) != 0)
			exit(1);
	pause();
}
END
gcc -O1 -fno-optimize-sibling-calls -fno-inline -pthread \
	-o "$dir/come_and_go" "$dir/come_and_go.c" -ldl ||
	{ not_ok "compiles"; exit 1; }

# One changes so slowly that each change is seen, one faster than anyone
# looks.
slow=${tag}s fast=${tag}f
begin "$dir/come_and_go" "$dir" 400 "$slow"
begin "$dir/come_and_go" "$dir" 7 "$fast"
# seen TAG : how many samples name the library that was there, and how many
# another one
seen() {
	awk -v tag="$1" '/^stack / && match($0, "pool=" tag "[a-z]*,") {
		there = substr($0, RSTART + 5 + length(tag),
		    RLENGTH - 6 - length(tag))
		sub(/^[^}]*}/, "")
		if (!match($0, /(work_|lib)(one|two|three)/))
			next
		name = substr($0, RSTART, RLENGTH)
		sub(/^(work_|lib)/, "", name)
		if (name == there) right += $NF; else wrong += $NF
	} END { print right + 0, wrong + 0 }' "$out"
}
# Until enough has been seen: others want the CPU too.
for round in 1 2 3 4 5 6; do
	"$driver" -h 997 -s 1000 -n 4 >"$out" 2>"$dir/err"
	status=$?
	need_attached "$out"
	[ $status = 0 ] && balanced "$out" || break
	read -r right wrong <<<"$(seen "$slow")"
	read -r more bad <<<"$(seen "$fast")"
	echo "# slow: $right right, $wrong wrong; fast: $more right, $bad wrong"
	all_right=$((${all_right:-0} + right))
	all_wrong=$((${all_wrong:-0} + wrong + bad))
	[ $all_right -lt 100 ] || [ $round = 1 ] || break
done
expect "the profiler ends well" "status $status" $status = 0
if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi
expect "the library that is there is named" "$all_right samples" \
	"$all_right" -gt 0
expect "none that is not there is" "$all_wrong samples" "$all_wrong" = 0
