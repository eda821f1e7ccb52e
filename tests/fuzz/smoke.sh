#!/bin/bash
# One fuzz target on its committed corpus and about a thousand inputs made from
# it, the same ones in each run, so that nobody's change is refused for what it
# did not do.  FUZZ_SECONDS looks for new ones for so long.  What is found
# stays in BUILD/fuzz/.
#
#   smoke.sh BUILD/fuzz/fuzz_NAME
set -u
target=$1
name=${target##*/fuzz_}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
options=(-timeout=200 -rss_limit_mb=1024 -artifact_prefix="${target%/*}/"
	-print_final_stats=0)
if [ -n "${FUZZ_SECONDS:-}" ]; then
	options+=(-max_total_time="$FUZZ_SECONDS" -timeout=10)
else
	options+=(-seed=1 -runs="${FUZZ_RUNS:-1000}" -max_total_time=5)
fi
[ ! -e "$here/$name.dict" ] || options+=(-dict="$here/$name.dict")
if "$target" "${options[@]}" "$work" "$here/corpus/$name" >"$work.log" 2>&1; then
	echo "ok - $name: $(grep -oE 'DONE.*cov: [0-9]+' "$work.log" | grep -oE 'cov: [0-9]+')"
else
	tail -n 30 "$work.log"
	echo "not ok - $name: a crash, a hang or a leak"
fi
rm -f "$work.log"
