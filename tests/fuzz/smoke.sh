#!/bin/bash
# One fuzz target for a few seconds, from its committed corpus; FUZZ_SECONDS
# makes it longer.  What it finds stays in BUILD/fuzz/.
#
#   smoke.sh BUILD/fuzz/fuzz_NAME
set -u
target=$1
name=${target##*/fuzz_}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
options=(-max_total_time="${FUZZ_SECONDS:-2}" -timeout=10 -rss_limit_mb=1024
	-artifact_prefix="${target%/*}/" -print_final_stats=0)
[ ! -e "$here/$name.dict" ] || options+=(-dict="$here/$name.dict")
if "$target" "${options[@]}" "$work" "$here/corpus/$name" >"$work.log" 2>&1; then
	echo "ok - $name: $(grep -oE 'DONE.*cov: [0-9]+' "$work.log" | grep -oE 'cov: [0-9]+')"
else
	tail -n 30 "$work.log"
	echo "not ok - $name: a crash, a hang or a leak"
fi
rm -f "$work.log"
