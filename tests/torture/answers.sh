#!/bin/bash
# A store of random content, a worker on it, and random questions whose
# answers are recomputed from exported batches (answers.py).
#
#	answers.sh BUILD MODE [QUESTIONS [SEED [SLOTS]]]
#
# MODE: whole     sealed files of all levels, late files, an old journal
#       open      the newest slots and late data come through memlensd, and
#                 are in its open journal while questions are asked
#       retained  retention has taken the fine slots of the oldest spans
#       damaged   files of the store have flipped bits
#
# The last line is "N questions, N wrong"; the status is 0 when none is.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:?folder of the build} mode=${2:?mode} questions=${3:-1000}
seed=${4:-1} slots=${5:-600}
dir=$(mktemp -d)
daemon= worker=
trap 'kill $worker $daemon 2>/dev/null; wait; rm -rf "$dir"' EXIT
. tests/torture/lib.sh

start_daemon() {
	cat >"$dir/conf" <<-END
	[store]
	directory = $dir/store
	retain-fine = ${1:-40y}
	retain = 40y
	[cpu]
	enabled = no
	[procfs]
	enabled = no
	[socket]
	path = $dir/memlensd.sock
	group =
	END
	"$build/memlensd" -f "$dir/conf" >"$dir/memlensd.log" 2>&1 &
	daemon=$!
	until_true listens "$dir/memlensd.sock"
}

now=$(($(date +%s) / 10))
python3 tests/torture/world.py "$seed" "$slots" $((now - slots)) "$dir" \
	"${SHARE:-0.8}" || fail "no world"
import "$dir/early.mlb" "$dir/store"
case $mode in
open)
	start_daemon
	import "$dir/late.mlb" "$dir/memlensd.sock"
	import "$dir/newest.mlb" "$dir/memlensd.sock"
	export_all
	;;
*)
	import "$dir/late.mlb" "$dir/store"
	import "$dir/newest.mlb" "$dir/store"
	export_all
	;;
esac
case $mode in
damaged) damage 2 ;;
retained)
	before=$(ls "$dir/store" | grep -c '^span')
	start_daemon 2h
	fewer() { [ "$(ls "$dir/store" | grep -c '^span')" -lt "$before" ]; }
	until_true fewer
	;;
esac
start_worker
case $mode in
open) mode=whole ;;
esac
python3 tests/torture/answers.py "$dir/export" "$dir/sock" "$questions" \
	"$seed" "$mode"
