#!/bin/bash
# Runs the benchmarks: a table on the terminal, all numbers in
# BUILD/bench.json, an array that is whole after each of them.
#
#	run.sh BUILD [BENCH...]      benches: the scripts beside this one
#
# WITHOUT="store storm" leaves some out; PARTS="reference day metrics" keeps
# the store, the longest (over half an hour), to some of its parts.
#
# A bench is a script that takes the build folder and prints a line of JSON
# for each number: {"name", "value", "unit", "reference", "reference_value",
# "ratio"}; ratio = value / reference_value.  Its other lines are shown.  A
# line that is no such row is named and makes the run fail; the others stay.
set -u
called=$PWD
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "$called" && cd "${1:?folder of the build}" && pwd)
shift
benches=${*:-store unwind-rows old-kernel flame heap serve ingest profiler cost storm answers demo}
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
	then {row: $row} else {bad: $text} end'

# take_rows BENCH : of what it said
take_rows() {
	local sorted bad
	sorted=$(grep '^{' "$said" | jq -cR "$sort_rows")
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

align() {
	if command -v column >/dev/null; then
		column -t -s "$(printf '\t')"
	else
		cat
	fi
}

echo '[]' >"$build/bench.json"
for bench in $benches; do
	case " ${WITHOUT:-} " in *" $bench "*) continue ;; esac
	echo "== $bench" >&2
	began=$SECONDS
	script=tests/bench/$bench.sh
	case $bench in */*) script=$bench ;; esac
	"$script" "$build" | tee "$said" | grep -v '^{' >&2
	[ "${PIPESTATUS[0]}" = 0 ] || {
		echo "$bench failed" >&2
		failed=1
	}
	take_rows "$bench"
	echo "== $bench: $((SECONDS - began)) s" >&2
done
jq -r '.[] | [.name, .value, .unit, (.reference // "-"),
	(.reference_value // "-"), (.ratio // "-")] | @tsv' "$build/bench.json" |
	{ printf 'name\tvalue\tunit\treference\tvalue\tratio\n'; cat; } | align
echo "all numbers: $build/bench.json"
exit $failed
