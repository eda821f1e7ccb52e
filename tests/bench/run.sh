#!/bin/bash
# Runs the benchmarks: a table on the terminal, all numbers in
# BUILD/bench.json.
#
#	run.sh BUILD [BENCH...]      benches: the scripts beside this one
#
# A bench is a script that takes the build folder and prints a line of JSON
# for each number: {"name", "value", "unit", "reference", "reference_value",
# "ratio"}; ratio = value / reference_value.  Its other lines are shown.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "${1:?folder of the build}" && pwd)
shift
benches=${*:-store unwind-rows old-kernel flame heap serve ingest profiler cost storm}
failed=0
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
for bench in $benches; do
	echo "== $bench" >&2
	"tests/bench/$bench.sh" "$build" | tee -a "$lines" | grep -v '^{' >&2
	[ "${PIPESTATUS[0]}" = 0 ] || {
		echo "$bench failed" >&2
		failed=1
	}
done
grep '^{' "$lines" | jq -s . >"$build/bench.json"
jq -r '.[] | [.name, .value, .unit, (.reference // "-"),
	(.reference_value // "-"), (.ratio // "-")] | @tsv' "$build/bench.json" |
	{ printf 'name\tvalue\tunit\treference\tvalue\tratio\n'; cat; } |
	column -t -s "$(printf '\t')"
echo "all numbers: $build/bench.json"
exit $failed
