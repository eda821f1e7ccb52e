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
# demo MODE QUESTIONS SLOTS
demo() {
	local said
	seed=$((seed + 1))
	said=$(tests/torture/demo.sh "$build" "$1" "$2" $seed "$3" 2>&1)
	echo "$1, seed $seed: $(tail -n 1 <<<"$said")"
	grep '^#.*[1-9][0-9]* wrong\|^# [a-z_]*: [A-Z]\|^#   ' <<<"$said"
	[[ $(tail -n 1 <<<"$said") =~ ^([0-9]+)\ questions,\ ([0-9]+)\ wrong$ ]] ||
		{ echo "$said" | tail -n 5; exit 1; }
	asked=$((asked + BASH_REMATCH[1])) wrong=$((wrong + BASH_REMATCH[2]))
}
demo bundled all 0
demo whole all "$slots"
demo whole 3000 $((slots * 10))
demo damaged 2000 $((slots * 10))
printf '{"name": "answers of the demo that differ from a recomputation, of %d", "value": %d, "unit": "answers", "reference": "none", "reference_value": 0, "ratio": null}\n' \
	$asked $wrong
