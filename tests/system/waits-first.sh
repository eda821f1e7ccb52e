#!/bin/bash
# The first thread of a program is of the pool of its name from its first slot
# to its last, as redis's: it begins alone, then others have its name for good
# or until they have named themselves.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/waits.sh"
out=$dir/out name=first_$tag
gcc -O1 -fno-omit-frame-pointer -pthread -o "$dir/$name" -x c - <<'END_C' ||
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
static volatile unsigned sink;
static void burns(void)
{
	for (unsigned i = 0; i < 4000000; i++)
		sink += i;
}
__attribute__((noinline)) static void *stays_unnamed(void *arg)
{
	for (;;) {
		burns();
		usleep(2000);
	}
	return arg;
}
static void *names_itself(void *arg)
{
	usleep(300);
	pthread_setname_np(pthread_self(), "later-1");
	return stays_unnamed(arg);
}
__attribute__((noinline)) static void waits_first(int times)
{
	while (times-- > 0) {
		burns();
		poll(0, 0, 2);
		poll(0, 0, 40);
	}
}
int main(void)
{
	pthread_t one, other;

	waits_first(40);
	pthread_create(&one, 0, names_itself, 0);
	waits_first(40);
	pthread_create(&other, 0, stays_unnamed, 0);
	waits_first(1 << 30);
	return 0;
}
END_C
	{ not_ok "compiles"; exit 1; }

begin_driver -s 1000 -w 20000
seen slots 2
begin "$dir/$name"
# of LABELS : in how many slots is a stack of the program with them?
of() {
	grep -aF "process=$name" "$out" | P=$1 awk '/^stack / &&
		$0 ~ ENVIRON["P"] && !($2 in slot) { slot[$2]; n++ }
		END { print n + 0 }'
}
enough() { [ "$(of "pool=later-")" -ge 4 ] && [ "$(of "pool=stays_u")" -ge 3 ]; }
seen enough
end_driver
expect "all threads were seen" "$(of pool=later-), $(of pool=stays_u) slots" \
	"$(of pool=later-)" -ge 4 -a "$(of pool=stays_u)" -ge 3
all=$(of "process=$name") n=$(of "pool=$name,process=$name,reason=poll")
expect "its first thread has a pool by its name in each slot" "$n of $all" \
	"$n" -ge $((all - 1))
n=$(samples "$out" "process=$name,reason=poll")
m=$(samples "$out" "pool=$name,process=$name,reason=poll")
expect "and in none another one" "$m of $n ns" "$m" = "$n" -a "$n" -gt 0
n=$(samples "$out" "pool=main,")
expect "what it began with names no pool" "$n ns" "$n" = 0
