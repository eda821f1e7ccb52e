#!/bin/bash
# What the profile of waits costs at a high rate of switches: ping-pong over
# two pipes on one CPU, in CPU time a switch, beside our own clock's profile
# alone, bpftrace programs that do nothing at each switch (`empty` by the
# tracepoint, `raw` by what ours is attached to, too), one that sums up how long
# each thread was away, one that counts stacks, and bcc's offcputime (of
# libbpf-tools: the other one wants the kernel's headers).
#
#   offcpu.sh BUILD [ROUNDS [WAY...]]
#
# Each round runs all of them, in an order drawn anew, each right after a run
# with nothing: rows are medians of the ratios of such pairs.  A run is twenty
# short bursts, before all else that wants the CPU, and counts as its fifth: what
# others do on the machine is in the rest.
set -u
# bpftrace wants tracefs, which need not be mounted: for us alone.
if [ ! -d /sys/kernel/tracing/events ] && [ -z "${OFFCPU_TRACEFS:-}" ]; then
	OFFCPU_TRACEFS=1 exec unshare --mount --propagation private sh -c '
		mount -t tracefs tracefs /sys/kernel/tracing
		exec "$0" "$@"' "$0" "$@"
fi
cd "$(dirname "$0")/../.." || exit 1
rounds=${2:-9}
ways=${*:3}
ways=${ways:-nothing clock raw empty interrupt back leave bpftrace stacks offcputime}
. tests/bench/lib.sh
begin_as_root "$@"
driver=$BUILD/system/cpu_driver
ping() {
	for _ in $(seq 20); do
		chrt -f 50 "$BUILD/bench/offcpu_ping" 8000
	done | sort -g | sed -n 4p
}
away='tracepoint:sched:sched_switch { @left[args->prev_pid] = nsecs;
	if (@left[args->next_pid]) {
		@away[args->next_comm] = sum(nsecs - @left[args->next_pid]);
		delete(@left[args->next_pid]); } }'
stacks='tracepoint:sched:sched_switch { @[kstack, ustack] = count(); }'

# What runs beside the program, and how it says that it has begun.
run_nothing() { :; }
run_clock() { profiler '^waits' "$driver" -k -s 1000 -n 1000; }
waits() {
	profiler '^waits 1' "$driver" -k -s 1000 -n 1000 -w 1000 -o "$1"
}
run_interrupt() { waits interrupt; }
run_back() { waits back; }
run_leave() { waits leave; }
run_empty() {
	profiler Attaching bpftrace \
		-e 'tracepoint:sched:sched_switch /cpu == 4096/ { }'
}
# What any program costs that is attached as ours is.
make_raw() {
	clang -g -O2 -target bpf -I . -c -o "$dir/raw.o" -x c - <<-END
		#include "collector/bpf/kernel.h"
		#include <bpf/bpf_helpers.h>
		SEC("tp_btf/sched_switch") int empty_switch(void *ctx)
		{
			return 0;
		}
	END
}
run_raw() {
	[ -e "$dir/raw.o" ] || make_raw || return
	profiler attached "$BUILD/bench/offcpu_attach" "$dir/raw.o"
}
run_bpftrace() { profiler Attaching bpftrace -e "$away"; }
run_stacks() { profiler Attaching bpftrace -e "$stacks"; }
run_offcputime() { profiler '' offcputime 1000; }

# profiler SAYS COMMAND... : begins it, and waits until it says that it has; one
# that says nothing has begun after 3 s
profiler() {
	local says=$1 i
	shift
	command -v "$1" >/dev/null || return 1
	stdbuf -oL "$@" >"$dir/said" 2>&1 &
	beside=$!
	pids=("$beside")
	[ -n "$says" ] || sleep 2
	for i in $(seq 300); do
		[ -n "$says" ] || break
		grep -aq "$says" "$dir/said" && break
		kill -0 $beside 2>/dev/null || return 1
		sleep 0.1
	done
	sleep 1 # it attaches after that
	kill -0 $beside 2>/dev/null
}

# with WAY : prints a ratio
with() {
	local without ns
	without=$(ping)
	beside=
	"run_$1" || { echo "$1: not here" >&2; return 1; }
	ns=$(ping)
	[ -z "$beside" ] || { kill $beside; wait $beside; } >/dev/null 2>&1
	awk -v a="$ns" -v b="$without" \
		'BEGIN { printf "%.4f %.1f %.1f\n", a / b, a - b, b }'
}

for ((i = 0; i < rounds; i++)); do
	for way in $(shuf -e $ways); do
		with "$way" >>"$dir/$way"
	done
done
# middle COLUMN WAY : the median
middle() {
	awk -v c="$1" '{ print $c }' "$dir/$2" | sort -g |
		awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
}
for way in $ways; do
	[ -s "$dir/$way" ] || continue
	SPREAD=$(awk '{ print $1 }' "$dir/$way" | spread) \
		row "offcpu_${way}_ratio" "$(middle 1 "$way")" times
	row "offcpu_${way}_switch" "$(middle 2 "$way")" ns without \
		"$(middle 3 "$way")"
done
[ ! -s "$dir/interrupt" ] ||
	SPREAD=$(awk '{ print $1 }' "$dir/interrupt" | spread) \
	row offcpu_goal_ratio "$(middle 1 interrupt)" times goal 1.08
# Where the true median is at most, with 95 % of probability.
at_most() {
	sort -g "$1" | awk '{ v[NR] = $1 }
		END { i = int((NR + 1) / 2 + 0.98 * sqrt(NR) + 0.999)
		if (i > NR) i = NR
		print v[i] }'
}
[ ! -s "$dir/interrupt" ] || row offcpu_goal_ratio_at_most \
	"$(at_most "$dir/interrupt")" times goal 1.08
