#!/bin/bash
# memlens heap against google-pprof on dumps that gperftools' allocator writes
# here: samples of what is in use, as /pprof/heap serves them, and counts of all
# that was allocated, as HEAPPROFILE writes them.
set -u
cd "$(dirname "$0")/../.." || exit 1
memlens=$BUILD/memlens
tcmalloc=$(ls /usr/lib/*/libtcmalloc.so.4 2>/dev/null | head -n 1)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
program=$dir/heap_gperftools
functions="work take_small take_big take_deep churn main"
pprof() { google-pprof "$@" 2>/dev/null; }

command -v google-pprof >/dev/null && [ -n "$tcmalloc" ] ||
	{ echo "skip - dumps against google-pprof: no gperftools"; exit 77; }
# new[] with malloc's free: the one is the other's
g++ -O2 -g -Wno-mismatched-new-delete -o "$program" tests/data/heap_gperftools.cc -lpthread -ldl || exit 1
dumps() { # NAME [PREFIX]
	TCMALLOC_SAMPLE_PARAMETER=65536 LD_PRELOAD=$tcmalloc "$program" \
		"$dir/$1.1" "$dir/$1.2" ${2:+"$2"} 2>"$dir/why"
}
compare() { # NAME [FUNCTION]
	if python3 tests/replay/heap_compare.py table "$dir/theirs" "$dir/ours" \
	    $functions ${2:-} >"$dir/why" 2>&1; then
		echo "ok - $1"
	else
		echo "not ok - $1"
		sed 's/^/# /' "$dir/why"
	fi
}
table() { # DUMP TYPE NAME [BASE [FUNCTION]]
	pprof --text --show_bytes "--$2" ${4:+--base="$4"} "$program" "$1" >"$dir/theirs"
	"$memlens" heap --text --bytes --type "$2" ${4:+--base "$4"} "$1" >"$dir/ours"
	compare "$3" ${5:-}
}

dumps sample && dumps all "$dir/hp" || { echo "not ok - the program dumps"; exit 1; }
for type in inuse_space inuse_objects; do
	table "$dir/sample.2" $type "sampled: the table of $type is google-pprof's"
	table "$dir/sample.2" $type "and the difference of two" "$dir/sample.1"
done
for type in inuse_space inuse_objects alloc_space alloc_objects; do
	# the library asks for memory, too: to write the profile
	table "$dir/all.2" $type "counted: the table of $type is google-pprof's" \
		"" GetHeapProfile
done
table "$dir/all.2" alloc_space "and the difference of two" "$dir/all.1"
total=$("$memlens" heap --text --bytes --type alloc_space "$dir/sample.2" | head -n 1)
if [ "$total" = "Total: 0 B" ]; then
	echo "ok - what a sample does not know is not made up"
else
	echo "not ok - what a sample does not know is not made up"
	echo "# $total"
fi
