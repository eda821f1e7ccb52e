#!/bin/bash
# Every range of the offline demo through the pages' own scripts, answers
# recomputed independently (tests/torture/demo.sh): of the demo in this tree,
# and of recordings of stores of random content, whole and damaged.
#
#	demo.sh BUILD [SLOTS [SEED]]
#
# A row of JSON: how many answers differ, of how many.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:?folder of the build} slots=${2:-24} seed=${3:-$RANDOM}
asked=0 wrong=0
. tests/bench/lib.sh
recompute demo bundled all 0
recompute demo whole all "$slots"
recompute demo whole 2000 $((slots * 10))
recompute demo damaged 1000 $((slots * 10))
row "answers of the demo that differ from a recomputation" $wrong answers \
	asked $asked
[ $wrong = 0 ]
