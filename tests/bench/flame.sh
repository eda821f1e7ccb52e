#!/bin/bash
# Flame graphs beside inferno, in the same run: folded stacks to SVG, with
# every frame drawn, and perf script's text to folded.
#
#	flame.sh BUILD
#
# RUNS=5          counted pairs of runs of each
# STACKS=100000   folded stacks (105 MB)
# PERF=210000000  bytes of perf script's text
# SHORT=5000000   short stacks, different ones (165 MB)
#
# The goals are half of inferno's time; the first picture has to stay under
# 120 MB of memory, that of short stacks under 300 MB.  Ratios are of CPU seconds, pair by pair: all are single
# threads, and a busy machine spares no wall clock.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${1:?folder of the build}" && pwd)
. tests/bench/lib.sh
runs=${RUNS:-5}
version=0.12.4
root=$build/inferno-$version
dir=$(mktemp -d -p "$build")
trap 'rm -rf "$dir"' EXIT
say() { echo "flame: $*"; }

# compare NAME INPUT OUR-COMMAND ITS-COMMAND
compare() {
	local name=$1 input=$2 ours=$3 theirs=$4 wall cpu peak size
	local rwall rcpu rpeak rsize q bytes mine
	say "$name"
	if [ "$inferno" = 1 ]; then
		tests/bench/flame_time.py "$runs" "$dir/out" "$ours" \
			"$theirs" >"$dir/times"
	else
		tests/bench/flame_time.py "$runs" "$dir/out" "$ours" \
			>"$dir/times"
		rcpu=null rpeak=null rsize=null q=null
	fi
	{
		read -r wall cpu peak size
		[ "$inferno" = 0 ] || {
			read -r rwall rcpu rpeak rsize
			read -r _ q _
		}
	} <"$dir/times"
	bytes=$(stat -c %s "$input")
	mine=$(jq -n "$bytes / $cpu / 1e6 | round")
	say "$name: $wall s of the clock${rwall:+, inferno $rwall s};" \
		"$mine MB/s of CPU"
	row "flame_${name}_cpu" "$cpu" s "${reference:-}" "$rcpu" "$q"
	row "flame_${name}_speed" "$mine" MB/s
	row "flame_${name}_peak" "$peak" B "${reference:-}" "$rpeak"
	row "flame_${name}_output" "$size" B "${reference:-}" "$rsize"
}

inferno=0 reference=
if cargo_program "$root" inferno $version; then
	inferno=1 reference="inferno $version"
fi
say "the texts"
"$build/bench/flame_text" folded "${STACKS:-100000}" >"$dir/folded"
"$build/bench/flame_text" perf "${PERF:-210000000}" >"$dir/perf"
memlens=$build/memlens
compare svg "$dir/folded" "$memlens flamegraph $dir/folded" \
	"$root/bin/inferno-flamegraph $dir/folded"
compare collapse "$dir/perf" "$memlens collapse --bare $dir/perf" \
	"$root/bin/inferno-collapse-perf -n 1 $dir/perf"
if [ "$inferno" = 1 ]; then
	"$memlens" collapse --bare "$dir/perf" | LC_ALL=C sort |
		sha256sum >"$dir/a"
	"$root/bin/inferno-collapse-perf" "$dir/perf" 2>/dev/null |
		LC_ALL=C sort | sha256sum >"$dir/b"
	cmp -s "$dir/a" "$dir/b" || {
		say "the collapsed stacks are not inferno's"
		exit 1
	}
	say "the collapsed stacks are inferno's"
fi
runs=$((runs > 3 ? 3 : runs))
compare svg_all "$dir/folded" \
	"$memlens flamegraph --min-width 0 $dir/folded" \
	"$root/bin/inferno-flamegraph --minwidth 0 $dir/folded"
"$build/bench/flame_text" short "${SHORT:-5000000}" >"$dir/short"
compare svg_short "$dir/short" "$memlens flamegraph $dir/short" \
	"$root/bin/inferno-flamegraph $dir/short"
