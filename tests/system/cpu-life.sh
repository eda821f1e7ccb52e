#!/bin/bash
# Processes that live for a moment are known when they begin: their stacks
# are whole, their threads are counted.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out

# Sorts for 150 ms, below a function that needs no frame pointer; its threads
# do nothing.
cat >"$dir/life_short.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static int cmp(const void *a, const void *b) { return *(int *)a - *(int *)b; }
static void *idle(void *p) { return p; }
__attribute__((noinline)) int sorting(void)
{
	static int v[4000];
	for (int i = 0; i < 4000; i++)
		v[i] = rand();
	qsort(v, 4000, sizeof(*v), cmp);
	return v[7];
}
int main(void)
{
	pthread_t t[5];
	int n = 0;
	for (int i = 0; i < 5; i++)
		pthread_create(&t[i], 0, idle, 0);
	for (int i = 0; i < 5; i++)
		pthread_join(t[i], 0);
	while (clock() < CLOCKS_PER_SEC * 15 / 100)
		n += sorting();
	return n == 1;
}
END
name=life_$tag
gcc -O2 -fomit-frame-pointer -o "$dir/$name" "$dir/life_short.c" ||
	{ not_ok "compiles"; exit 1; }

shell=shell_$tag
own "$(command -v bash)" shell
begin "$dir/$shell" -c 'while :; do "$0"; done' "$dir/$name"

all() { samples "$out" "^stack [0-9]+ $name "; }
# The slot of ten samples or more of which most are whole: WHOLE of ALL.  How
# many processes are looked at in all depends on how many others begin.
best() {
	awk -v n="$name" '/^stack / && $3 == n {
			all[$2] += $NF
			if (/};_start;.*;main;/) whole[$2] += $NF
		}
		END {
			a = 1; w = 0
			for (s in all)
				if (all[s] >= 10 && whole[s] * a >= w * all[s]) {
					w = whole[s] + 0; a = all[s]
				}
			print w, "of", a
		}' "$out"
}
part() { echo $((4 * ${1%% *} - ${1##* })); } # over a quarter, if positive
count() { # SERIES SERVICE : sum of the increases
	awk -v n="$1" -v s="[$2]" '/^counter / && $3 == n && $4 == s {
		sum += $5 } END { print sum + 0 }' "$out"
}
# Until it was looked at, a process counts under its parent's service.
both() { echo $(($(count "$1" "$name") + $(count "$1" "$shell"))); }
started() { both memlens_threads_started_total; }
exited() { both memlens_threads_exited_total; }
execs() { both memlens_processes_execs_total; }
content() {
	[ "$(all)" -ge 40 ] && [ "$(part "$(best)")" -gt 0 ] &&
		[ "$(started)" -ge 5 ] && [ "$(exited)" -ge 5 ] &&
		[ "$(execs)" -ge 4 ]
}
sample_until content -s 1000
all=$(all) best=$(best)
started=$(started) exited=$(exited) execs=$(execs)
expect "sampled" "$all samples" "$all" -ge 20
# None was before: such a process was not looked at while it lived.
expect "a good part of the stacks is whole" "$best" "$(part "$best")" -gt 0
expect "threads are counted" "$started started, $exited exited" \
	"$started" -ge 5 -a "$exited" -ge 5
expect "programs are counted" "$execs" "$execs" -ge 4
# Others may map and fork more, in a moment in which we have no CPU, than
# there is room for; but what we do here is no reason to lose any.
whole=$(awk -v n="[$name]" -v s="[$shell]" '/^counter .*life_records_lost_total/ {
		if ($(NF - 1) > 0) lost[$2] = 1
	}
	/^counter .*memlens_processes_execs_total/ &&
		($4 == n || $4 == s) && $5 > 0 { seen[$2] = 1 }
	END {
		for (i in seen) {
			all++
			whole += !(i in lost)
		}
		print whole + 0, "of", all + 0
	}' "$out")
echo "# slots without a loss: $whole"
expect "no record is lost in a slot" "$whole" "${whole%% *}" -gt 0
if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi
