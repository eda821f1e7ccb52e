#!/bin/bash
# 10,000 random questions, answers recomputed independently of our C
# (tests/torture/answers.sh): whole, open, retained and damaged stores.
#
#	answers.sh BUILD [QUESTIONS [SEED]]
#
# A row of JSON: how many answers differ, of how many.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:?folder of the build} questions=${2:-10000} seed=${3:-$RANDOM}
asked=0 wrong=0
# campaign MODE QUESTIONS SLOTS
campaign() {
	local said
	seed=$((seed + 1))
	said=$(tests/torture/answers.sh "$build" "$1" "$2" $seed "$3" 2>&1)
	echo "$1, seed $seed: $(tail -n 1 <<<"$said")"
	grep '^#.*[1-9][0-9]* wrong\|^# [a-z_]*: [A-Z]\|^#   ' <<<"$said"
	[[ $(tail -n 1 <<<"$said") =~ ^([0-9]+)\ questions,\ ([0-9]+)\ wrong$ ]] ||
		{ echo "$said" | tail -n 5; exit 1; }
	asked=$((asked + BASH_REMATCH[1])) wrong=$((wrong + BASH_REMATCH[2]))
}
campaign whole $((questions * 4 / 10)) 700
campaign open $((questions * 3 / 10)) 700
SHARE=0.05 campaign retained $((questions * 2 / 10)) 9000
campaign damaged $((questions / 10)) 700
printf '{"name": "answers that differ from a recomputation, of %d", "value": %d, "unit": "answers", "reference": "none", "reference_value": 0, "ratio": null}\n' \
	$asked $wrong
