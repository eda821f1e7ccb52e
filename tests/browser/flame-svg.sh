#!/bin/bash
# Flame graphs as files, opened alone; see flame-svg.mjs.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '%s\n' 'main 1' 'main;read 1' 'main;read;copy 3' 'main;write 5' \
	>"$dir/a"
printf '%s\n' 'main 1' 'main;read;copy 9' 'main;write 1' >"$dir/b"
seq 3000 | sed 's/.*/main;f&;leaf 1/' >"$dir/large"
"$BUILD/memlens" flamegraph --inverted --min-width 0 "$dir/large" \
	>"$dir/large.svg" || exit 1
{
	seq 11000 | sed 's/.*/main;f&;leaf 1/'
	echo 'main;wide 11000'
} >"$dir/huge"
"$BUILD/memlens" flamegraph --inverted --min-width 0 "$dir/huge" \
	>"$dir/huge.svg" || exit 1
"$BUILD/memlens" flamegraph --inverted "$dir/a" >"$dir/a.svg" &&
	"$BUILD/memlens" flamegraph --inverted --diff \
		--title "B against A,$(printf ' long%.0s' $(seq 12)) end" \
		"$dir/a" "$dir/b" >"$dir/diff.svg" || exit 1
node tests/browser/flame-svg.mjs "$dir/a.svg" "$dir/diff.svg" \
	"$dir/large.svg" "$dir/huge.svg"
