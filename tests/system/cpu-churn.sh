#!/bin/bash
# Children that live for milliseconds and libraries that come and go: samples
# are their program's, not of nobody, and known callers stay.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
churn=$BUILD/system/cpu_churn
for name in forker execer child loader; do own "$churn" $name; done
for l in one two three; do
	cat >"$dir/$l.c" <<-END
	#include <time.h>
	static volatile unsigned long long in_$l;
	__attribute__((noinline)) static void work_$l(void)
	{
		for (int i = 0; i < 1000; i++)
			in_$l = in_$l * 25214903917u + 11;
	}
	void in_library(long long ns)
	{
		struct timespec a, b;
		clock_gettime(CLOCK_MONOTONIC, &a);
		do {
			work_$l();
			clock_gettime(CLOCK_MONOTONIC, &b);
		} while ((b.tv_sec - a.tv_sec) * 1000000000LL +
		    b.tv_nsec - a.tv_nsec < ns);
	}
	END
	gcc -O2 -shared -fPIC -o "$dir/$l.so" "$dir/$l.c" ||
		{ not_ok "compiles"; exit 1; }
done
begin "$dir/forker_$tag" fork 5000
begin "$dir/execer_$tag" exec 5000 "$dir/child_$tag"
begin "$dir/loader_$tag" library 2000 "$dir/one.so" "$dir/two.so" "$dir/three.so"

forked="process=forker_$tag[,}]" executed="process=child_$tag[,}]"
loaded="process=loader_$tag[,}]"
content() {
	at_least 300 "$forked" && at_least 300 "$executed" &&
		at_least 300 "$loaded" &&
		at_least 30 "$executed.*;(burn|in_program)" && at_least 30 "$forked.*;in_child"
}
sample_until content -h 499 -s 1000

# share NAME WHAT OF PERCENT : at most so many of the samples
share() {
	local part all
	part=$(samples "$out" "$2") all=$(samples "$out" "$3")
	echo "# $1: $part of $all"
	expect "$1" "$part of $all" $((part * 100)) -le $((all * $4))
}
# Records that the kernel dropped leave some without an origin.
share "children of a fork are their program's" " .exited. .*$forked" "$forked" 2
share "programs that were executed are themselves" \
	" .exited. .*$executed" "$executed" 2
n=$(samples "$out" " child_$tag [{]")
expect "they have a service of their own" "$n samples" "$n" -ge 200
n=$(samples "$out" " child_$tag [{].*;(burn|in_program)")
expect "their code has its names" "$n samples" "$n" -ge 30
n=$(samples "$out" " forker_$tag .*;in_child")
expect "a child's stack has its parent's names" "$n samples" "$n" -ge 30
# What has no callers and says nothing: before, nine tenths.
share "an unknown leaf is not all there is" \
	"$loaded[^;]*;(.no user stack.|.unknown.) " "$loaded" 10
share "what has gone again has its name" "$loaded.*;.unknown." "$loaded" 20
n=$(samples "$out" "$loaded.*;in_caller;(.unknown.|[^;]*(in_library|work_|[.]so))")
expect "it keeps its callers" "$n samples" "$n" -ge 20
if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi
