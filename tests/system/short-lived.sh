#!/bin/bash
# What lives for a moment is its parent's service, under its own name in the
# label `process`; what goes on is a service of its own.
. "$(dirname "$0")/daemon-lib.bash"
need_root "services of short-lived processes"
# names of this run alone: others may run the same programs
tag=${dir##*.}
tag=${tag: -6}
cat >"$dir/conf" <<-END
	[store]
	slot = 1s
	reserve = 0
	[cpu]
	rate = 199Hz
	budget = 0%
	[procfs]
	interval = 200ms
	[socket]
	path = $dir/sock
	[services]
	short-lived = 3s
	END
cat >"$dir/burn.c" <<'C'
#include <stdlib.h>
#include <time.h>

volatile unsigned sum;

__attribute__((noinline)) static void
burns(void)
{
	for (int i = 0; i < 100000; i++)
		sum = sum * 1664525 + 1;
}

int
main(int argc, char **argv) /* SECONDS, of its CPU time */
{
	struct timespec t;
	double most = atof(argv[argc - 1]);

	do {
		burns();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_sec + t.tv_nsec / 1e9 < most);
	return 0;
}
C
gcc -O2 -o "$dir/short_$tag" "$dir/burn.c" || { not_ok "compiles"; exit 1; }
cp "$dir/short_$tag" "$dir/long_$tag"
cp "$(command -v bash)" "$dir/maker_$tag"
start_daemon d -s "$dir/store" -w "$dir/rec"
said "$dir/d.log" "source cpu: attached" || {
	echo "skip - short-lived: $(grep "source cpu" "$dir/d.log")"
	exit 77
}
# The parent is a service before it has children.
begin /dev/null "$dir/maker_$tag" -c "trap 'kill %1' EXIT; trap exit TERM
	sleep 5; '$dir/long_$tag' 100 &
	while :; do '$dir/short_$tag' 0.02; done"
maker=$last
python3 tests/system/mlb-stacks.py "$dir/rec" 240 \
	" maker_$tag [{].*process=short_$tag[,}].*burns" \
	" maker_$tag [{].*process=long_$tag[,}].*burns" \
	" long_$tag [{].*process=long_$tag[,}].*burns" \
	>"$dir/stacks" 2>"$dir/unseen"
expect "all are their parent's at first, what goes on a service" \
	"$(cat "$dir/unseen")" ""
expect "no short one is a service" \
	"$(grep -c "^[0-9]* short_$tag " "$dir/stacks")" 0
expect_true "what goes on is counted as one" await 60 has "$dir/rec" \
	"num_procs{groupname=\"long_$tag\""
expect "short ones are not" "$(mlb "$dir/rec" blocks 1000 |
	grep -c "groupname=\"short_$tag\"")" 0
end "$maker"
