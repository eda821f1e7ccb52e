#!/bin/bash
# What a question over all of 1,000 services at once costs: a graph of them, and
# a graph with its timeline; with the newest slots in an open journal, and
# after that is sealed.
#
#	many.sh BUILD
#
# SERVICES=1000 SLOTS=320 QUESTIONS=15   slots of 10 s; for each row
# PAST=FOLDER      another build, whose worker is asked the same, in turns
#
# The numbers are CPU time of the worker.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "${1:?folder of the build}" && pwd)
past=${PAST:-} slots=${SLOTS:-320} questions=${QUESTIONS:-15}
. tests/bench/lib.sh
dir=$(mktemp -d)
trap end_all EXIT
trap 'exit 1' INT TERM
mkfifo "$dir/more"
"$build/bench/neighbour_store" "$dir/store" "${SERVICES:-1000}" 0 0 "$slots" \
	<"$dir/more" >"$dir/said" &
pids+=("$!")
exec 7>"$dir/more"

# rows STATE : of the numbers in $dir/numbers
rows() {
	local kind first warm first0 warm0
	while read -r kind first warm first0 warm0; do
		kind=${kind//_/ }
		row "many services, $1: $kind, first" "$first" ms \
			${past:+before "$first0"}
		row "many services, $1: $kind, p50" "$warm" ms \
			${past:+before "$warm0"}
	done <"$dir/numbers"
}
n=0
for state in open sealed; do
	n=$((n + 1))
	until [ "$(wc -l <"$dir/said")" -ge $n ]; do
		kill -0 "${pids[0]}" 2>/dev/null || { echo "no store"; exit 1; }
		sleep 0.2
	done
	read -r _ from until < <(tail -n 1 "$dir/said")
	python3 tests/bench/many.py "$build" "$dir/store" "$from" "$until" \
		"$questions" ${past:+"$past"} >"$dir/numbers" || exit 1
	rows $state
	echo >&7
done
exec 7>&-
