#!/bin/bash
# Children that live for milliseconds and libraries that come and go: samples
# are their program's, not of nobody, and known callers stay.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
churn=$BUILD/system/cpu_churn
for name in forker execer child loader; do own "$churn" $name; done
# Each burns CPU time, not time, for what it has of both is what is sampled.
for l in a b; do
	cat >"$dir/$l.c" <<-END
	#include <time.h>
	volatile unsigned long long in_$l;
	static long long used(void)
	{
		struct timespec t;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		return t.tv_sec * 1000000000LL + t.tv_nsec;
	}
	__attribute__((noinline)) void work_$l(void)
	{
		for (int i = 0; i < 300000; i++)
			in_$l = in_$l * 25214903917u + 11;
	}
	void in_library(long long ns)
	{
		long long until = used() + ns;
		do
			work_$l();
		while (used() < until);
	}
	END
	gcc -O2 -shared -fPIC -o "$dir/$l.so" "$dir/$l.c" ||
		{ not_ok "compiles"; exit 1; }
done
begin "$dir/forker_$tag" fork 5000
begin "$dir/execer_$tag" exec 5000 "$dir/child_$tag"
begin "$dir/loader_$tag" library 2000 "$dir/a.so" "$dir/b.so" >"$dir/used"

forked="process=forker_$tag[,}]" executed="process=child_$tag[,}]"
loaded="process=loader_$tag[^;]*"
in_program="$executed.*;(burn|in_program)" in_child="$forked.*;in_child"
before="process=execer_$tag[,}].*;in_child"
# What a walk by tables gives: the caller, then the library's code.
in_library="$loaded.*;(in_library|work_[ab]|[ab][.]so[+])"
called="$loaded;[^[].*;calls_[ab];in_library;work_"
# Records of forks and mappings that the kernel dropped, and says that it did,
# leave samples without an origin: slots beside such a loss are not judged.
judged=$dir/judged
judge() {
	awk '$3 == "memlens_life_records_lost_total" && $(NF - 1) > 0 {
			for (i = -1; i <= 1; i++)
				lost[$2 + i] = 1
		}
		/^stack / { line[++n] = $0; slot[n] = $2 }
		END { for (i = 1; i <= n; i++)
			if (!(slot[i] in lost))
				print line[i] }' "$out" >"$judged"
}
# All that is judged below, so many times that a share of it says something:
# until then it samples, however slow the machine and whatever else it does.
there() { # N PATTERN
	[ "$(samples "$judged" "$2")" -ge "$1" ]
}
sampled() {
	judge
	there 400 "$forked" && there 400 "$executed" && there 400 "$loaded"
}
content() {
	sampled && there 60 "$in_program" && there 60 "$in_child" &&
		there 60 "$before" && there 200 "$called"
}
# Slots so long that closing them, which a busy machine makes long, too, does
# not put off more and more what is to be named.
sample_until content -h 199 -s 4000
sampled || {
	echo "skip - churn: too few samples in slots without lost records:" \
		"$(samples "$judged" "$forked") $(samples "$judged" \
		"$executed") $(samples "$judged" "$loaded")"
	exit 77
}

# share NAME WHAT OF PERCENT : at most so many of the samples
share() {
	local part all
	part=$(samples "$judged" "$2") all=$(samples "$judged" "$3")
	echo "# $1: $part of $all"
	expect "$1" "$part of $all" "$all" -gt 0 -a \
		$((part * 100)) -le $((all * $4))
}
# many NAME WHAT N : are there so many samples, which it has waited for?
many() {
	local n
	n=$(samples "$judged" "$2")
	echo "# $1: $n"
	expect "$1" "$n samples" "$n" -ge "$3"
}
share "children of a fork are their program's" " .exited. .*$forked" "$forked" 2
share "programs that were executed are themselves" \
	" .exited. .*$executed" "$executed" 2
many "they have a service of their own" " child_$tag [{]" 392
many "their code has its names" " child_$tag [{].*;(burn|in_program)" 60
many "a child's stack has its parent's names" " forker_$tag .*;in_child" 60
# Before its exec a child is of its parent's program: half of its work is so.
many "what it did before its exec has the parent's names" "$before" 60
share "and is not of the program that it executed" \
	"$executed.*;(in_child|.no mapping.;.unknown.)" "$executed" 2
# What has no callers and says nothing: before, nine tenths.
share "an unknown leaf is not all there is" \
	"$loaded;(.no user stack.|.unknown.)( |;)" "$loaded" 10
# Once there are tables, that is.
no_table=$(samples "$judged" "$loaded;.(no unwind table yet|new code).")
n=$(($(samples "$judged" "$loaded") - no_table))
kept=$(samples "$judged" "$called")
echo "# callers: $kept of $n, $no_table before there were tables"
expect "it keeps its callers" "$kept of $n" "$kept" -gt 0 -a \
	$((kept * 4)) -ge $((n * 3))
n=$(samples "$judged" "$loaded.*;(calls_a;.*work_b|calls_b;.*work_a)")
expect "it names no library but the one that was there" "$n samples" "$n" = 0

# The program knows how much of its CPU time it was in libraries: so many of
# its samples have names of theirs, but for chance (six deviations; where it
# was wrong, one of fifty had) and one of fifty, for records that were dropped.
read -r _ inside all <<<"$(grep '^used [0-9]* [0-9]*$' "$dir/used" | tail -n 1)"
n=$(samples "$judged" "$loaded") named=$(samples "$judged" "$in_library")
least=$(awk -v n="$n" -v p="$inside/$all" 'BEGIN {
	split(p, of, "/")
	p = of[2] > 0 ? of[1] / of[2] : 0
	print int(0.98 * n * p - 6 * sqrt(n * p * (1 - p)))
}')
echo "# named: $named of $n, in libraries $inside of $all ns: $least at least"
expect "what has gone again has its name" "$named of $n, not $least" \
	"$least" -gt 0 -a "$named" -ge "$least"
if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi
