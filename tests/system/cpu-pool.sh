#!/bin/bash
# The first thread is its name; others that nobody named are told apart by the
# function that they began with, although others have names of their own.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
cat >"$dir/pool.cc" <<'END'
#include <pthread.h>
#include <string.h>
#include <thread>
#include <time.h>
volatile unsigned sink;
static time_t end;
__attribute__((noinline)) static void spin()
{
	for (unsigned i = 0; i < 100000; i++)
		sink = sink * 25214903 + i;
}
struct Store {
	__attribute__((noinline)) void Compact(int n)
	{
		while (time(0) < end)
			spin(), sink += n;
	}
};
extern "C" __attribute__((noinline)) void *flush_log(void *p)
{
	while (time(0) < end)
		spin();
	return p;
}
int main(int argc, char **argv)
{
	Store store;
	pthread_t t;
	end = time(0) + 900;
	std::thread a(&Store::Compact, &store, argc);
	std::thread b([] { while (time(0) < end) spin(); });
	pthread_create(&t, 0, flush_log, 0);
	if (argc > 1)
		pthread_setname_np(t, "flusher-7");
	while (time(0) < end)
		spin();
	pthread_join(t, 0);
	a.join();
	b.join();
}
END
plain=plain_$tag named=named_$tag
g++ -O2 -o "$dir/$plain" "$dir/pool.cc" -lpthread &&
	own "$dir/$plain" named || { not_ok "compiles"; exit 1; }
four_threads() { [ "$(ls "/proc/$last/task" | wc -l)" = 4 ]; }
begin "$dir/$plain"
await 60 four_threads
begin "$dir/$named" named
await 60 threads flusher-7
await 60 four_threads

# pool SERVICE POOL : its samples
pool() {
	awk -v s="$1" -v p="pool=$2,process=" '/^stack / && $3 == s &&
		index($0, p) { n += $NF } END { print n + 0 }' "$out"
}
in_pools() { # SERVICE POOL... : a few samples in each
	local service=$1
	shift
	for name in "$@"; do
		[ "$(pool "$service" "$name")" -ge 5 ] || return
	done
}
# Until tables are made and names are known, the process's name stands in:
# whole PATTERN : samples of whole stacks that match, but of the first thread,
# in slots behind those in which each of its pools was seen first
whole() {
	grep -F " $plain {" "$out" | awk -v p="$1" -v plain="$plain" '
		/^stack / && (at = index($0, "pool=")) > 0 {
			pool = substr($0, at + 5)
			sub(/,process=.*/, "", pool)
			if (pool != plain && !(pool in first)) {
				first[pool] = $2
				pools++
				known = $2
			}
			if (pools >= 3 && $2 > known && $0 ~ p &&
			    /};(__)?clone3?;.*spin/)
				n += $NF
		}
		END { print n + 0 }'
}
all_seen() {
	in_pools $plain $plain flush_log Store::Compact \
		'main::{lambda()#1}' &&
		in_pools $named 'flusher-*' $named Store::Compact \
			'main::{lambda()#1}' && [ "$(whole .)" -ge 20 ]
}
sample_until all_seen -s 1000
for name in $plain flush_log Store::Compact 'main::{lambda()#1}'; do
	n=$(pool $plain "$name")
	expect "a pool $name" "$n samples" "$n" -ge 3
done
rest=$(whole "pool=$plain,") all=$(whole .)
expect "whole stacks are in no other" "$rest samples of $all" \
	"$rest" = 0 -a "$all" -ge 20
for name in $plain $named; do
	n=$(samples "$out" "process=$name[,}].*;main;.*spin")
	m=$(samples "$out" "pool=$name,process=$name[,}].*;main;.*spin")
	expect "the first thread is $name in each slot" "$m of $n" \
		"$m" = "$n" -a "$n" -ge 5
done
n=$(pool $named 'flusher-*')
expect "a thread's own name counts" "$n samples" "$n" -ge 3
for name in $named Store::Compact 'main::{lambda()#1}'; do
	n=$(pool $named "$name")
	expect "and changes nothing for $name" "$n samples" "$n" -ge 3
done
n=$(pool $named flush_log)
expect "a thread with a name has no pool by its function" "$n samples" "$n" = 0
