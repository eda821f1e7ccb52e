#!/bin/bash
# Random questions on stores of random content, each answer recomputed from
# exported batches by a program that shares no code with ours.  A campaign is
# tests/bench/answers.sh.
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:?folder of the build}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# answers MODE QUESTIONS SEED SLOTS
answers() {
	local said
	tests/torture/answers.sh "$BUILD" "$@" >"$log" 2>&1
	said=$(tail -n 1 "$log")
	if [ "$said" = "$2 questions, 0 wrong" ]; then
		echo "ok - $1: $said"
	else
		echo "not ok - $1: $said"
		sed 's/^/# /' "$log"
	fi
}
answers whole 400 1 200
answers open 300 2 200
answers damaged 150 3 200
SHARE=0.02 answers retained 150 4 9000
