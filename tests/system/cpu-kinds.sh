#!/bin/bash
# Every kind of program of tests/kinds/table.tsv that is installed, side by side
# under one daemon: CPU time as /proc has it, stacks to a root, names.
cd "$(dirname "$0")/../.." || exit 1
# The bench compares with perf, too, and has those that compile long.
mapfile -t kinds < <(awk -F '\t' '!/^#/ && $1 != "haskell" && $1 != "ocaml" {
	print $1 }' tests/kinds/table.tsv)
RATE=499 LATE=10 PERF='' FORM=tap exec tests/kinds/run.sh "$BUILD" 15 "${kinds[@]}" 2>/dev/null
