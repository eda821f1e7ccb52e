#!/bin/bash
# The store on the reference workload: a day by default.
#
#	store.sh BUILD [SLOTS]       259200: a month, 3155760: a year
#
# A line of JSON for each number, with what it is compared to: `goal` is our
# own, other references are measured here or said where they were measured.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${1:?folder of the build}" && pwd)
slots=${2:-${SLOTS:-8640}}
bench=$build/bench/store_bench
dir=$(mktemp -d -p "$build")
trap 'rm -rf "$dir"' EXIT

# name|reference|value of the reference
references='
store_write_cpu|goal|0.4
store_write_bytes|Pyroscope 2.2.1, uncut, measured once|7300
store_full_span_bytes|goal|900
store_write_rss|goal|64
store_metric_bytes|goal|4
store_query_random_json_p99|goal|10
store_query_random_blocks|3 log2(n)|'$(awk "BEGIN{print int(3*log($slots)/log(2))}")'
store_query_1d_tree_p50|all leaves|@store_query_1d_naive
'
{
	python3 tests/bench/profiles.py --slots "$slots" --dump >"$dir/population"
	"$bench" text "$dir/population" 300
	"$bench" write "$dir/profiles" "$dir/population" "$slots"
	full=$(ls -S "$dir"/profiles/span-6-* 2>/dev/null | head -n 1)
	[ -z "$full" ] ||
		echo "store_full_span_bytes $(($(stat -c %s "$full") / 4096)) B/slot"
	"$bench" query "$dir/profiles" 300
	"$bench" write "$dir/threaded" "$dir/population" 2000 threaded
	"$bench" metrics "$dir/metrics" 4400
} >"$dir/numbers"
awk -v references="$references" '
BEGIN {
	n = split(references, lines, "\n")
	for (i = 1; i <= n; i++) {
		split(lines[i], f, "|")
		what[f[1]] = f[2]
		value[f[1]] = f[3]
	}
}
{
	name[NR] = $1; got[$1] = $2
	unit[NR] = $0; sub(/^[^ ]+ [^ ]+ /, "", unit[NR])
}
END {
	for (i = 1; i <= NR; i++) {
		k = name[i]
		v = value[k]
		if (v ~ /^@/) v = got[substr(v, 2)]
		printf "{\"name\":\"%s\",\"value\":%s,\"unit\":\"%s\"", k, \
		    got[k], unit[i]
		if (k in what && v > 0)
			printf ",\"reference\":\"%s\",\"reference_value\":%s" \
			    ",\"ratio\":%.3f", what[k], v, got[k] / v
		else
			printf ",\"reference\":null,\"reference_value\":null" \
			    ",\"ratio\":null"
		print "}"
	}
}' "$dir/numbers"
