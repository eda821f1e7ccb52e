#!/bin/bash
# The numbers of a run beside the last committed ones, results.json.
#
#	results.sh table BENCH.json     as a table; what is over 3 % worse is
#	                                marked, with how much
#	results.sh write BENCH.json     makes them the committed ones, and
#	                                RESULTS.md of them; what follows its
#	                                "## By hand" stays
#
# RESULTS=FOLDER where both files are: beside this script.
set -eu
what=${1:?table or write} bench=${2:?BENCH.json}
dir=${RESULTS:-$(dirname "$0")}
last=$dir/results.json

# Which numbers are ours and better when they are lower, or higher; of others
# (counts, inputs, what we are compared with) a change says nothing.
judge='def better:
	if .name | test("^(perf_|store_text_|store_pprof|names_program|" +
		"store_metric_prometheus|profiler_noise)|_naive|wall$|" +
		"^profiler_.*_(again|fp|dwarf|reference)$") then null
	elif .unit | test("^([MG]B/s.*|requests/s)$") then "higher"
	elif .unit | test("^(s|ms|us|kB|MB|B|insns|% of a CPU|" +
		"(s|ms|us|B)/.*|s .*)$") then "lower"
	else null end;
def change: if .last == null or .last == 0 or .value == null then null
	else (.value / .last - 1) * 100 end;
def worse: better as $b | change as $c | $c != null and
	(($b == "lower" and $c > 3) or ($b == "higher" and $c < -3));
def key: "\(.bench)/\(.name)/\(.reference)";
def beside($last): ($last.rows | map({key: key, value: .value}) |
	from_entries) as $of | map(. + {last: $of[key]});
def percent: if . == null then "-" else
	(if . > 0 then "+" else "" end) + "\(. * 10 | round / 10) %" end;'
kept=$(mktemp) # as a file: it is too long for an argument
trap 'rm -f "$kept"' EXIT
cat "$last" >"$kept" 2>/dev/null || echo '{"rows": []}' >"$kept"

table() {
	{
		printf 'name\tvalue\tunit\treference\tvalue\tratio\tlast\tchange\n'
		jq -r --slurpfile last "$kept" "$judge"' beside($last[0]) | .[] |
		[.name, .value, .unit, (.reference // "-"),
			(.reference_value // "-"), (.ratio // "-"),
			(.last // "-"), (change | percent) +
			(if worse then " WORSE" else "" end)] | @tsv' "$bench"
	} | if command -v column >/dev/null; then
		column -t -s "$(printf '\t')"
	else
		cat
	fi
	jq -r --slurpfile last "$kept" "$judge"' beside($last[0]) | [.[] |
		select(worse) | .name] | "\(length) numbers are more than " +
		"3 % worse than the committed ones"' "$bench"
}

machine() {
	echo "$(nproc) CPUs ($(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo |
		head -n 1)), kernel $(uname -r)"
}

# Rows of benches that were not run stay, with the time and place of theirs.
write() {
	local new
	new=$(jq --slurpfile last "$kept" --arg date "$(date -u +%F)" \
		--arg commit "$(git rev-parse --short HEAD 2>/dev/null)" \
		--arg machine "$(machine)" '([.[].bench] | unique) as $run |
		{rows: ([$last[0].rows[] | select(.bench as $b |
			$run | index([$b]) | not)] +
		map(. + {date: $date, commit: $commit, machine: $machine}))}' \
		"$bench")
	jq . <<<"$new" >"$dir/results.json"
	{
		cat <<-'HEAD'
		# What it costs

		`make bench` prints these numbers beside those below; `make WRITE=1 bench` writes them here.  A
		ratio is that of the value to what it is compared with; goals are ours.  Spread: the least and the most
		of how many times, of which the value is the median.
		HEAD
		jq -r '.rows | group_by(.bench)[] | "", "## \(.[0].bench)", "",
			"\(.[0].date), commit \(.[0].commit), \(.[0].machine)", "",
			"| figure | value | | spread | beside | value | ratio |",
			"|---|---:|---|---|---|---:|---:|",
			(.[] | "| \(.name) | \(.value) | \(.unit) | \(.spread |
			if . then "\(.least) to \(.most) of \(.of)" else "" end) | " +
			"\(.reference // "") | \(.reference_value // "") | " +
			"\(.ratio // "") |")' <<<"$new"
		[ ! -e "$dir/RESULTS.md" ] ||
			sed -n '/^## By hand/,$ { /^## By hand/ { x; p; x }; p }' \
				"$dir/RESULTS.md"
	} >"$dir/RESULTS.md.new"
	mv "$dir/RESULTS.md.new" "$dir/RESULTS.md"
	echo "written: $dir/results.json and RESULTS.md"
}
"$what"
