#!/bin/bash
# Where stacks begin that no table of rows tells: coroutines, the runtime of
# Go and its threads' own stacks, static programs of musl, with names and
# without.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
out=$dir/out
begun='};[^[]' # no mark
burn='#include <stdint.h>
static volatile uint64_t sum;
static __attribute__((noinline)) void work(void)
{
	for (uint64_t i = 0; i < 1000000; i++)
		sum += i;
}'
cat >"$dir/context.c" <<END
#include <ucontext.h>
$burn
static ucontext_t outer, inner;
static __attribute__((noinline)) void coroutine(void)
{
	work();
	sum++;
}
int main(void)
{
	static char stack[65536];
	for (;;) {
		getcontext(&inner);
		inner.uc_stack.ss_sp = stack;
		inner.uc_stack.ss_size = sizeof(stack);
		inner.uc_link = &outer;
		makecontext(&inner, coroutine, 0);
		swapcontext(&outer, &inner);
	}
}
END
cat >"$dir/plain.c" <<END
#include <pthread.h>
$burn
static void *thread(void *arg)
{
	for (;; sum++)
		work();
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, thread, 0);
	for (;; sum++)
		work();
}
END
cat >"$dir/go.go" <<'END'
package main

import "time"

type node struct{ left, right *node }

func tree(n int) *node {
	if n == 0 {
		return &node{}
	}
	return &node{tree(n - 1), tree(n - 1)}
}

func clocks() (sum int64) {
	for i := 0; i < 1000000; i++ {
		sum += time.Now().UnixNano()
	}
	return
}

func main() {
	go func() {
		for {
			clocks()
		}
	}()
	for {
		tree(14)
	}
}
END
names=
# program NAME COMMAND... : compiled, and begun as NAME_TAG
program() {
	local name=$1_$tag
	shift
	"$@" -o "$dir/$name" "$source" ||
		{ not_ok "$name compiles"; exit 1; }
	begin "$dir/$name"
	names="$names $name"
}
source=$dir/context.c
program context gcc -O2
source=$dir/plain.c
program musl musl-gcc -O2 -static
program bare musl-gcc -O2 -static -s
source=$dir/go.go
program go env CGO_ENABLED=0 GO111MODULE=off HOME="$dir" go build
plenty() { sampled 300 $names; }
begin_driver -h 997 -s 500
seen plenty
end_driver
# roots NAME PROGRAM PATTERN
roots() { whole "$1" "$out" "$2_$tag" "$3" 300 990; }
roots makecontext context '};(__start_context[; ]|_start;)'
roots "static musl" musl '};(libc_start_main_stage2;main|start;thread)[; ]'
roots "static musl without names" bare '};bare_[^;]*;bare_'
# goexit: a goroutine; the others: a stack of the runtime's own, behind a mark
# where callers are missing.
roots Go go '};(runtime[.](goexit|mcall|mstart|rt0_go)|\[another stack\];runtime[.]morestack)[^;]*;'
n=$(count "$out" "context_$tag" '};__start_context;coroutine;work[ ;]')
expect "makecontext: its function" "$n samples" "$n" -ge 200
n=$(count "$out" "go_$tag" \
	'};runtime[.]goexit[^;]*;.*main[.]clocks;time[.]Now;.*vdso')
expect "Go: through the vDSO" "$n samples" "$n" -ge 10
n=$(count "$out" "go_$tag" \
	'};runtime[.]goexit[^;]*;.*main[.]tree;.*;runtime[.]systemstack')
expect "Go: across a change of stacks" "$n samples" "$n" -ge 1
