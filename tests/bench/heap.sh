#!/bin/bash
# Heap dumps beside jeprof, names beside the two programs called addr2line.
#
#	heap.sh BUILD
#
# STACKS of the dump (100000: 41 MB), DEEP stacks of another shape (60000: 45
# MB), COPIES of a unit of C++ in the large
# program (26: about 130 MB of debug information), RUNS of ours.  Needs
# jeprof (libjemalloc-dev) and binutils; gimli's addr2line comes from
# crates.io where there is a cargo.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${1:?folder of the build}" && pwd)
stacks=${STACKS:-100000} deep=${DEEP:-60000} copies=${COPIES:-26} runs=${RUNS:-5}
. tests/bench/lib.sh
dir=$(mktemp -d -p "$build")
trap 'rm -rf "$dir"' EXIT
memlens=$build/memlens
say() { echo "$*" >&2; }

# One unit is compiled; its copies are units of their own for whoever reads
# debug information, with code of their own at other addresses.
big=$build/bench/heap_big.$copies
large_program() {
	[ -x "$big" ] && return
	say "building a large program (once)"
	g++ -std=c++17 -O2 -g -c -DUNIT=1 -DTABLES=6 -o "$dir/unit.o" \
		tests/bench/heap_big.cc
	local i objects=
	for i in $(seq "$copies"); do
		objcopy --remove-section=.group --redefine-sym "run1=run_$i" \
			"$dir/unit.o" "$dir/unit$i.o"
		objects="$objects $dir/unit$i.o"
	done
	echo 'int main(void) { return 0; }' >"$dir/main.c"
	g++ -Wl,-z,muldefs -o "$big" -x c "$dir/main.c" -x none $objects
	rm -f "$dir"/unit*.o
}

# Where it calls: what stands in heap dumps.
calls() {
	objdump -d --no-show-raw-insn "$big" |
		awk '$2 == "call" { sub(":", "", $1); print $1 }' |
		shuf -n 100000 --random-source=<(yes)
}

# timed RUNS COMMAND : wall, CPU seconds, peak bytes, bytes out; medians
timed() { python3 tests/bench/flame_time.py "$1" "$dir/out" "$2"; }
once() {
	local TIMEFORMAT='%R %U %S'
	{ time "$@" >"$dir/out" 2>"$dir/err"; } 2>&1 |
		awk '{ print $1, $2 + $3 }'
}

# rows NAME GOAL "OURS" REFERENCE "THEIRS": wall against the goal, CPU
# against the reference
rows() {
	local wall cpu peak rwall rcpu
	read -r wall cpu peak _ <<<"$3"
	row "$1_wall" "$wall" s goal "$2"
	row "$1_peak" "$(awk "BEGIN { print $peak / 1e6 }")" MB
	[ -n "$5" ] || return 0
	read -r rwall rcpu _ <<<"$5"
	row "$1_cpu" "$cpu" s "$4" "$rcpu"
}

# ---- dumps ----

mkdir "$dir/none"
for tool in nm addr2line objdump c++filt; do
	printf '#!/bin/sh\nexit 0\n' >"$dir/none/$tool"
done
chmod +x "$dir"/none/*
python3 tests/bench/heap.py "$stacks" /nonexistent/bin >"$dir/dump"
say "$(stat -c %s "$dir/dump") bytes, $stacks stacks"
theirs= ; named=
large_program
calls >"$dir/calls"
python3 tests/bench/heap.py "$stacks" "$big" "$dir/calls" >"$dir/named"
if command -v jeprof >/dev/null; then
	theirs=$(once jeprof --tools="$dir/none/" --collapsed "$big" "$dir/dump")
	named=$(once jeprof --text "$big" "$dir/named")
else
	say "no jeprof beside us"
fi
rows heap_folded_raw 0.4 \
	"$(timed "$runs" "$memlens heap --raw --folded $dir/dump")" \
	"jeprof --collapsed, without names" "$theirs"
rows heap_text_raw 0.4 \
	"$(timed "$runs" "$memlens heap --raw --text $dir/dump")" \
	"jeprof --collapsed, without names" "$theirs"
# another shape: deep stacks, many addresses
python3 tests/bench/heap.py "$deep" /nonexistent/bin 200000 3 90 >"$dir/deep"
say "$(stat -c %s "$dir/deep") bytes, $deep stacks of 3 to 90 frames"
rows heap_folded_deep 0.4 \
	"$(timed "$runs" "$memlens heap --raw --folded $dir/deep")" "" ""
rows heap_text_deep 0.4 \
	"$(timed "$runs" "$memlens heap --raw --text $dir/deep")" "" ""
rows heap_text_named 2 \
	"$(timed "$runs" "$memlens heap --text $dir/named")" \
	"jeprof --text" "$named"

# ---- names ----

size=$(stat -c %s "$big")
say "$big: $size bytes; $(wc -l <"$dir/calls") addresses"
row names_program "$(awk "BEGIN { print $size / 1e6 }")" MB
printf '#!/bin/sh\nexec %s/replay/symbolize %s <%s/calls\n' "$build" "$big" \
	"$dir" >"$dir/ours"
printf '#!/bin/sh\nexec addr2line -a -f -i -C -e %s <%s/calls\n' "$big" \
	"$dir" >"$dir/binutils"
chmod +x "$dir/ours" "$dir/binutils"
ours=$(timed "$runs" "$dir/ours")
rows names 1.6 "$ours" "binutils addr2line" "$(timed 1 "$dir/binutils")"
root=$build/bench/cargo
if cargo_program "$root" addr2line 0.27.1 --features bin; then
	printf '#!/bin/sh\nexec %s/bin/addr2line -a -f -i -C -e %s <%s/calls\n' \
		"$root" "$big" "$dir" >"$dir/gimli"
	chmod +x "$dir/gimli"
	read -r _ cpu _ <<<"$ours"
	read -r _ rcpu _ <<<"$(timed 1 "$dir/gimli")"
	row names_cpu_gimli "$cpu" s "gimli addr2line 0.27.1" "$rcpu"
fi
