#!/bin/bash
# The offline demo, asked through the pages' own scripts (demo.py): each
# answer is recomputed.
#
#	demo.sh BUILD bundled [QUESTIONS]    the demo that is in this tree, from
#	                                     its recording
#	demo.sh BUILD whole [QUESTIONS [SEED [SLOTS]]]
#	                a recording of a store of random content, from exported
#	                batches, and the pages live on that store beside it
#	demo.sh BUILD damaged ...            of one with damaged files
#
# QUESTIONS "all" is every kind about every range.  The last line is "N
# questions, N wrong"; the status is 0 when none is.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:?folder of the build} mode=${2:?mode} questions=${3:-1000}
seed=${4:-1} slots=${5:-40}
[ "$mode" != bundled ] ||
	exec python3 tests/torture/demo.py frontend/snapshots/snapshot.js \
		"$questions"
dir=$(mktemp -d)
worker= gate=
trap 'kill $gate $worker 2>/dev/null; wait; rm -rf "$dir"' EXIT
. tests/torture/lib.sh

# one time, so that a seed means the same world whenever it is asked about
python3 tests/torture/demo_world.py "$seed" "$slots" 170000000 \
	"$dir" "${SHARE:-0.8}" || fail "no world"
for f in early late newest; do
	import "$dir/$f.mlb" "$dir/store"
done
export_all
[ "$mode" != damaged ] || damage 1
start_worker
python3 tests/torture/gate.py "$dir/sock" >"$dir/url" 2>"$dir/gate.log" &
gate=$!
until_true test -s "$dir/url"
node frontend/tools/snapshot.mjs "$(cat "$dir/url")" "$dir/snapshot.js" \
	$((slots * 10)) 's0,s1,s2,*' >"$dir/snapshot.log" 2>&1 ||
	fail snapshot
case $mode in
damaged) live= ;;
*) live=$(cat "$dir/url") ;;
esac
python3 tests/torture/demo.py "$dir/snapshot.js" "$questions" \
	"$dir/export" "$live" "$seed"
