#!/bin/bash
# memlens heap against jeprof on dumps that jemalloc writes here, and names
# against addr2line's.
set -u
cd "$(dirname "$0")/../.." || exit 1
memlens=$BUILD/memlens
symbolize=$BUILD/replay/symbolize
jemalloc=$(ls /usr/lib/*/libjemalloc.so.2 2>/dev/null | head -n 1)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
functions="main work take_small take_big take_deep filled"

ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; sed 's/^/# /' "$dir/why"; }
compare() {
	local name=$1
	shift
	if python3 tests/replay/heap_compare.py "$@" >"$dir/why" 2>&1; then
		ok "$name"
	else
		not_ok "$name"
	fi
}

# ---- names: they need no jemalloc ----

# Bytes of a program's functions, each so far from the last.
code() {
	nm -S --defined-only "$1" | awk '$3 ~ /^[tTwW]$/ { print $1, $2 }' |
		sort -u | while read -r start size; do
			seq $((0x$start)) "$2" $((0x$start + 0x$size - 1))
		done | xargs printf '%x\n'
}
names() {
	code "$2" "$4" >"$dir/addresses"
	addr2line -a -f -i -C -e "$2" <"$dir/addresses" >"$dir/theirs"
	"$symbolize" "$2" <"$dir/addresses" >"$dir/ours"
	compare "$1" lines "$dir/theirs" "$dir/ours" "$3"
}
program=$dir/heap_program
gcc -O2 -g -o "$program" tests/data/heap_program.c -lpthread -ldl || exit 1
names "names and lines of a C program are addr2line's" "$program" 1 3
# binutils names an inlined C++ function without a linker's name after the
# function around it
names "those of a C++ program too" "$BUILD/kvservice" 0.97 307
objcopy --only-keep-debug "$program" "$dir/heap_program.debug"
cp "$program" "$dir/stripped"
strip "$dir/stripped"
(cd "$dir" && objcopy --add-gnu-debuglink=heap_program.debug stripped)
code "$program" 7 >"$dir/addresses"
if "$symbolize" "$program" <"$dir/addresses" >"$dir/ours" &&
    "$symbolize" "$dir/stripped" <"$dir/addresses" >"$dir/theirs" &&
    cmp "$dir/ours" "$dir/theirs" >"$dir/why" 2>&1; then
	ok "a stripped program is named by its debug link"
else
	not_ok "a stripped program is named by its debug link"
fi
echo >>"$dir/heap_program.debug"
"$symbolize" "$dir/stripped" <"$dir/addresses" >"$dir/theirs"
grep -c take_ "$dir/theirs" >"$dir/why"
if grep -q take_ "$dir/theirs"; then
	not_ok "but not by a file with another checksum"
else
	ok "but not by a file with another checksum"
fi

# ---- jeprof ----

if [ -z "$jemalloc" ] || ! command -v jeprof >/dev/null; then
	echo "skip - dumps against jeprof: no jemalloc"
	exit 0
fi
# Tools that know nothing: jeprof then prints addresses.
mkdir "$dir/none"
for tool in nm addr2line objdump c++filt; do
	printf '#!/bin/sh\nexit 0\n' >"$dir/none/$tool"
done
chmod +x "$dir"/none/*
jeprof() { command jeprof "$@" 2>/dev/null; }

for lg in 12 19; do
	a=$dir/$lg.1.heap b=$dir/$lg.2.heap
	MALLOC_CONF=prof:true,prof_accum:true,lg_prof_sample:$lg \
		LD_PRELOAD=$jemalloc "$program" "$a" "$b" || exit 1
	for type in inuse_space inuse_objects alloc_space alloc_objects; do
		[ $lg = 12 ] || [ $type = inuse_space ] || continue
		jeprof --text --show_bytes --$type "$program" "$b" >"$dir/theirs"
		"$memlens" heap --text --bytes --type $type "$b" >"$dir/ours"
		compare "sample 2^$lg: the table of $type is jeprof's" \
			table "$dir/theirs" "$dir/ours" $functions \
			"filled (inline)"
	done
	jeprof --tools="$dir/none/" --collapsed "$program" "$b" >"$dir/theirs"
	"$memlens" heap --raw --keep-allocator --folded "$b" >"$dir/ours"
	compare "sample 2^$lg: folded stacks are jeprof's" \
		raw "$b" "$dir/theirs" "$dir/ours"
	sum=$(awk '{ n += $NF } END { printf "%d\n", n }' "$dir/ours")
	total=$("$memlens" heap --raw --text --bytes "$b" |
		awk '/^Total:/ { print $2 }')
	echo "sum $sum, total $total" >"$dir/why"
	if [ "$sum" = "$total" ]; then
		ok "sample 2^$lg: folded stacks add up to the total"
	else
		not_ok "sample 2^$lg: folded stacks add up to the total"
	fi
	jeprof --collapsed "$program" "$b" >"$dir/theirs"
	"$memlens" heap --folded "$b" >"$dir/ours"
	compare "sample 2^$lg: with names too, without the allocator" \
		named "$dir/theirs" "$dir/ours" main work
	jeprof --text --show_bytes --base="$a" "$program" "$b" >"$dir/theirs"
	"$memlens" heap --text --bytes --base "$a" "$b" >"$dir/ours"
	compare "sample 2^$lg: the difference of two dumps is jeprof's" \
		table "$dir/theirs" "$dir/ours" $functions "filled (inline)"
	jeprof --tools="$dir/none/" --collapsed --base="$a" "$program" "$b" \
		>"$dir/theirs"
	"$memlens" heap --raw --keep-allocator --folded --base "$a" "$b" \
		>"$dir/ours"
	compare "sample 2^$lg: and its folded stacks" \
		raw "$b" "$dir/theirs" "$dir/ours"
done

# ---- the other outputs ----

echo "no XML" >"$dir/why"
if "$memlens" heap --svg "$b" >"$dir/out.svg" 2>"$dir/why" &&
    grep -q 'take_big' "$dir/out.svg" && tail -c 8 "$dir/out.svg" |
	grep -q '</svg>'; then
	ok "a flame graph is drawn"
else
	not_ok "a flame graph is drawn"
fi
if "$memlens" heap --svg --base "$a" "$b" >"$dir/out.svg" 2>"$dir/why" &&
    grep -q 'amounts as they are' "$dir/out.svg" &&
    tail -c 8 "$dir/out.svg" | grep -q '</svg>'; then
	ok "two dumps are drawn against each other"
else
	not_ok "two dumps are drawn against each other"
fi
if "$memlens" heap --json --type alloc_space "$b" 2>"$dir/why" |
    jq -e '.flamebearer.numTicks > 0 and
	(.flamebearer.names | index("take_big") != null) and
	.metadata.units == "bytes"' >/dev/null 2>>"$dir/why"; then
	ok "flamebearer JSON is written"
else
	not_ok "flamebearer JSON is written"
fi
sed "s,$program,/nonexistent/program," "$b" >"$dir/moved.heap"
if ! "$memlens" heap "$dir/moved.heap" 2>"$dir/why" | grep -q take_big &&
    grep -q 'nonexistent.*stay without names' "$dir/why" &&
    "$memlens" heap --binary "$program" "$dir/moved.heap" 2>"$dir/why" |
	grep -q take_big; then
	ok "a program that is elsewhere is named by --binary"
else
	not_ok "a program that is elsewhere is named by --binary"
fi
gzip -k "$b"
if [ "$("$memlens" heap "$b.gz")" = "$("$memlens" heap - <"$b")" ]; then
	ok "a packed dump and standard input are read"
else
	not_ok "a packed dump and standard input are read"
fi
