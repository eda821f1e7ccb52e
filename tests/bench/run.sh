#!/bin/bash
# Runs the benchmarks, all of them within an hour: all numbers in
# BUILD/bench.json, an array that is whole after each of them, and as a table
# beside the last committed ones (results.json, which RESULTS.md shows).
#
#	run.sh BUILD [BENCH...]      benches: the scripts beside this one
#
# SKIP="store storm" leaves some out, ONLY="flame heap" all others;
# PARTS="reference day metrics" keeps the store, the longest, to some of its
# parts.  A bench is given LIMIT seconds (1,500).  WRITE=1 makes the numbers
# the committed ones when all went well: rows of benches that were left out
# stay as they are.
#
# A bench is a script that takes the build folder and prints a line of JSON
# for each number: {"name", "value", "unit", "reference", "reference_value",
# "ratio"}; ratio = value / reference_value; {"spread": {"least", "most", "of"}}
# too where the value is the median of several.  Its other lines are shown.  A
# line that is no such row is named and makes the run fail; the others stay.
set -u
called=$PWD
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "$called" && cd "${1:?folder of the build}" && pwd)
shift
benches=${*:-store unwind-rows old-kernel flame heap serve neighbour many graph ingest limits profiler offcpu waits memory memory-sources alloc builds kinds cost storm busy questions answers demo}
failed=0
said=$(mktemp) rows=$(mktemp)
trap 'rm -f "$said" "$rows"' EXIT

# What is one row, and what is not: {"row": ...} or {"bad": TEXT}.
sort_rows='. as $text | (try fromjson catch null) as $row |
	if ($row | type) == "object" and
		($row.name | type) == "string" and
		($row.unit | type) == "string" and
		([$row.value, $row.reference_value, $row.ratio] |
			all(type == "number" or type == "null")) and
		(["name", "value", "unit", "reference", "reference_value",
			"ratio"] - ($row | keys) | length) == 0
	then {row: ({bench: $bench} + $row)} else {bad: $text} end'

# take_rows BENCH : of what it said
take_rows() {
	local sorted bad
	sorted=$(grep '^{' "$said" | jq -cR --arg bench "$1" "$sort_rows")
	jq -c '.row // empty' <<<"$sorted" >>"$rows"
	jq -s . "$rows" >"$build/bench.json.new" &&
		mv "$build/bench.json.new" "$build/bench.json"
	bad=$(jq -r --arg b "$1" '"\($b): no row: \(.bad // empty)"' \
		<<<"$sorted")
	[ -z "$bad" ] || {
		echo "$bad" >&2
		failed=1
	}
}

wanted() {
	case " ${SKIP:-} " in *" $1 "*) return 1 ;; esac
	case " ${ONLY:-$1} " in *" $1 "*) ;; *) return 1 ;; esac
}

echo '[]' >"$build/bench.json"
for bench in $benches; do
	wanted "$bench" || continue
	echo "== $bench" >&2
	began=$SECONDS
	script=tests/bench/$bench.sh
	case $bench in */*) script=$bench ;; esac
	timeout -k 30 "${LIMIT:-1500}" "$script" "$build" | tee "$said" |
		grep -v '^{' >&2
	[ "${PIPESTATUS[0]}" = 0 ] || {
		echo "$bench failed" >&2
		failed=1
	}
	take_rows "$bench"
	echo "== $bench: $((SECONDS - began)) s" >&2
done
tests/bench/results.sh table "$build/bench.json"
echo "all numbers: $build/bench.json, after $SECONDS s"
if [ -n "${WRITE:-}" ] && [ $failed = 0 ]; then
	tests/bench/results.sh write "$build/bench.json" || failed=1
fi
exit $failed
