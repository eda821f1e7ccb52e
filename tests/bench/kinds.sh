#!/bin/bash
# The table of kinds of program (tests/kinds/table.tsv): CPU time beside
# /proc's, stacks that reach a root, names, shares of functions beside perf's,
# each with its bound.
#
#   kinds.sh BUILD [KIND...]
#
# SECONDS_OF_RUN=60, RATE=199 samples a second.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=$(cd "${1:?folder of the build}" && pwd)
shift
[ "$(id -u)" = 0 ] || { echo "skip - kinds: needs root"; exit 0; }
RATE=${RATE:-199} FORM=rows exec tests/kinds/run.sh "$BUILD" \
	"${SECONDS_OF_RUN:-60}" "$@" 2>/dev/null
