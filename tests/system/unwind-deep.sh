#!/bin/bash
# Stacks deeper than are kept: the leaf's part and the root's are there, with
# a mark between; what is deeper than a walk has a mark at its root.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
out=$dir/out
cat >"$dir/deep.c" <<'END'
#include <stdint.h>
#include <stdlib.h>
static volatile uint64_t sum;
static __attribute__((noinline)) void work(void)
{
	for (uint64_t i = 0; i < 1000000; i++)
		sum += i;
}
static __attribute__((noinline)) void near_leaf(int n)
{
	n > 0 ? near_leaf(n - 1) : work();
	sum++;
}
static __attribute__((noinline)) void middle(int n)
{
	n > 0 ? middle(n - 1) : near_leaf(40);
	sum++;
}
static __attribute__((noinline)) void near_root(int n, int depth)
{
	n > 0 ? near_root(n - 1, depth) : middle(depth);
	sum++;
}
int main(int argc, char **argv)
{
	for (;;)
		near_root(10, atoi(argv[argc - 1]));
}
END
name=deep_$tag
gcc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -fno-inline \
	-fno-ipa-cp -o "$dir/$name" "$dir/deep.c" ||
	{ not_ok "compiles"; exit 1; }

work=';work'
# judge DEPTH PATTERN : samples at work of a program that goes so deep
judge() {
	begin "$dir/$name" "$1"
	plenty() { [ "$(count "$out" $name "$work")" -ge 300 ]; }
	begin_driver -h 997 -s 500
	seen plenty
	end_driver
	kill -9 "$last"
	wait "$last" 2>/dev/null
	all=$(count "$out" $name "$work") good=$(count "$out" $name "$2")
	echo "# $1: $good of $all"
	expect "$1 calls: sampled" "$all samples" "$all" -ge 300
	if enough "$good" "$all" 999; then ok "$1 calls: $3"; else
		not_ok "$1 calls: $3" "$good of $all"
		grep -F " $name {" "$out" | tail -n 1 | cut -c 1-2000
	fi
}
# Kept are 32 frames next to the root: at least three of them begin it.
chain() { printf ";$1%.0s" $(seq "$2"); }
judge 20 "};_start;[^ ]*;main$(chain near_root 11)$(chain middle 21
	)$(chain near_leaf 41);work" "whole"
judge 300 "};_start;[^ ]*;main$(chain near_root 11);(middle;)*\[frames left out\]$(
	chain middle 53)$(chain near_leaf 41);work" "both ends are there"

# Deeper than a walk goes: 512 frames, a mark stands for the root.
begun="$begun|};[[]truncated[]];"
cut="};\[truncated\]$(chain '[^;[]*' 32);\[frames left out\]"
judge 10000 "$cut$(chain middle 53)$(chain near_leaf 41);work" "a mark at the root"
cat >"$dir/deep.go" <<'END'
package main

var sum uint64

//go:noinline
func work() {
	for i := uint64(0); i < 1000000; i++ {
		sum += i
	}
}

//go:noinline
func deep(n int) {
	if n > 0 {
		deep(n - 1)
	} else {
		work()
	}
	sum++
}

func main() {
	for {
		deep(10000)
	}
}
END
name=godeep_$tag work=';main[.]work'
env CGO_ENABLED=0 GO111MODULE=off HOME="$dir" go build -o "$dir/$name" \
	"$dir/deep.go" || { not_ok "Go compiles"; exit 1; }
judge 10000 "$cut$(chain 'main[.]deep' 94);main[.]work" "in Go, too"
