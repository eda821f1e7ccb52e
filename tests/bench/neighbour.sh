#!/bin/bash
# What noisy neighbours cost quiet services: 100 of these are asked about in
# two stores, alone, and beside a service that pushes 200,000 new stacks an
# hour and a host that compiles (neighbour_store.c); over ranges up to a
# month, no question twice; with the newest slots in an open journal, and
# after that is sealed.
#
#	neighbour.sh BUILD
#
# SLOTS=259200     of 10 s: a month, most of it sparse; 320 are dense
# STORE=FOLDER     where the past is kept for the next run; to write it takes
#                  minutes, on a slow disk many
# QUESTIONS=300    for each row
# PAST=FOLDER      another build, whose worker is asked the same
#
# The numbers are CPU time of the worker, which does nothing else meanwhile:
# what other work on the machine makes wait counts for nothing.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "${1:?folder of the build}" && pwd)
past=${PAST:-} slots=${SLOTS:-259200} questions=${QUESTIONS:-300}
. tests/bench/lib.sh
dir=$(mktemp -d)
trap end_all EXIT
trap 'exit 1' INT TERM
mkdir -p "$dir"/{log,quiet,loud}

# past NAME NEW PROGRAMS : in $STORE, once
past() {
	mkdir -p "$STORE" && rm -rf "$STORE/$1.new" &&
		"$build/bench/neighbour_store" "$STORE/$1.new" 100 "$2" "$3" \
			"$slots" past && mv "$STORE/$1.new" "$STORE/$1-$slots"
}
# fill NAME NEW PROGRAMS : begins a store; each line in its fifo is a step on
fill() {
	mkfifo "$dir/$1/more"
	if [ -n "${STORE:-}" ]; then
		[ -e "$STORE/$1-$slots" ] || past "$@" || exit 1
		cp -r "$STORE/$1-$slots" "$dir/$1/store"
	fi
	"$build/bench/neighbour_store" "$dir/$1/store" 100 "$2" "$3" "$slots" \
		<"$dir/$1/more" >"$dir/$1/said" &
	pids+=("$!")
}
# await NAME PID N : its Nth state; sets from, until
await() {
	until [ "$(wc -l <"$dir/$1/said")" -ge "$3" ]; do
		kill -0 "$2" 2>/dev/null || { echo "no store"; exit 1; }
		sleep 0.2
	done
	read -r _ from until < <(tail -n 1 "$dir/$1/said")
}
fill quiet 0 0
quiet=${pids[-1]}
exec 7>"$dir/quiet/more"
fill loud 556 20
loud=${pids[-1]}
exec 8>"$dir/loud/more"

# rows STATE : of the numbers in $dir/numbers
rows() {
	local kind alone50 alone99 p50 p99 past99
	while read -r kind alone50 alone99 p50 p99 past99; do
		row "neighbour $1: $kind, p50" "$p50" ms alone "$alone50"
		row "neighbour $1: $kind, p99" "$p99" ms alone "$alone99"
		[ -z "$past99" ] || row "neighbour $1: $kind, p99 of before" \
			"$p99" ms before "$past99"
	done <"$dir/numbers"
}
n=0
for state in open sealed; do
	n=$((n + 1))
	await quiet "$quiet" $n
	await loud "$loud" $n
	python3 tests/bench/neighbour.py "$build" "$from" "$until" \
		"$questions" "$dir" ${past:+"$past"} >"$dir/numbers" || exit 1
	rows "$state"
	echo >&7
	echo >&8
done
exec 7>&- 8>&-
