#!/bin/bash
# Random questions to the offline demo through the pages' own scripts: to the
# one in this tree, each answer recomputed from its recording, and to
# recordings of stores of random content, recomputed from exported batches.
# Every range is asked about by tests/bench/demo.sh.
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:?folder of the build}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# demo MODE QUESTIONS [SEED SLOTS]
demo() {
	local said
	tests/torture/demo.sh "$BUILD" "$@" >"$log" 2>&1
	said=$(tail -n 1 "$log")
	if [ "$said" = "$2 questions, 0 wrong" ]; then
		echo "ok - $1: $said"
	else
		echo "not ok - $1: $said"
		sed 's/^/# /' "$log"
	fi
}
demo bundled 300
demo whole 200 1 24
demo damaged 150 2 80
