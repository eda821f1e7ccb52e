#!/bin/bash
# Random questions, answers recomputed independently of our C
# (tests/torture/answers.sh): whole, open, retained and damaged stores.
#
#	answers.sh BUILD [QUESTIONS [SEED]]
#
# A row of JSON: how many answers differ, of how many.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:?folder of the build} questions=${2:-5000} seed=${3:-$RANDOM}
asked=0 wrong=0
. tests/bench/lib.sh
recompute answers whole $((questions * 4 / 10)) 700
recompute answers open $((questions * 3 / 10)) 700
SHARE=0.05 recompute answers retained $((questions * 2 / 10)) 9000
recompute answers damaged $((questions / 10)) 700
row "answers that differ from a recomputation" $wrong answers asked $asked
[ $wrong = 0 ]
