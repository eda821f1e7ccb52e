#!/bin/bash
# A stripped program whose debug file lies in a mirror only: names and inlined
# functions come from there, in both layouts, when the build id is the right
# one; and what is wrong in the mirror is as if it were not there.
. "$(dirname "$0")/lib/cpu.sh"
names=$BUILD/system/cpu_names
out=$dir/out mirror=$dir/mirror
prog=mirr_$tag
cat >"$dir/mirr.c" <<'C'
volatile unsigned sum;
static inline __attribute__((always_inline)) void inlined_unseen(unsigned n)
{
	__asm__ volatile(".globl place_unseen\nplace_unseen: nop");
	sum ^= n;
}
static __attribute__((noinline)) void burns_unseen(void)
{
	for (unsigned i = 0; i < 100000; i++)
		sum = sum * 1664525 + 1;
	inlined_unseen(sum);
}
int main(void)
{
	for (;;)
		burns_unseen();
}
C
gcc -O2 -g -Wl,--build-id -o "$dir/whole" "$dir/mirr.c" &&
	objcopy --only-keep-debug "$dir/whole" "$dir/symbols" &&
	strip -o "$dir/$prog" "$dir/whole" ||
	{ not_ok "a stripped program"; exit 1; }
sed 's/sum ^= n/sum += n/' "$dir/mirr.c" >"$dir/other.c"
gcc -O2 -g -Wl,--build-id -o "$dir/other" "$dir/other.c" &&
	objcopy --only-keep-debug "$dir/other" "$dir/strange" || exit 1
id=$(readelf -n "$dir/$prog" | awk '/Build ID/ { print $NF }')
expect "it has a build id" "$id" "${#id}" = 40
# The file's first segment begins at 0 in both.
at=0x$(nm "$dir/whole" | awk '/place_unseen/ { print $1 }')
ask() { # ARGUMENTS... : the frames of the place, as KIND NAME
	timeout 60 "$names" "$@" /nowhere "$dir/$prog" "$at" 2>"$dir/err" |
		awk '{ print $3, $4 }' | tr '\n' ' '
}
want='native burns_unseen inlined inlined_unseen '
nothing=$(ask)
expect "without a mirror it has no name" "$nothing" \
	"${nothing%0x*}" = "address $prog+"
said() { # NAME WANTED
	local is
	is=$(ask -m "$mirror")
	expect "$1" "$is, not $2: $(cat "$dir/err")" "$is" = "$2"
}
said "nor by a mirror that is not there" "$nothing"
mkdir -p "$mirror/$id"
said "nor by one without its file" "$nothing"
cp "$dir/symbols" "$mirror/$id/debuginfo"
said "named by a mirror as debuginfod's cache" "$want"
mkdir -p "$mirror/.build-id/${id:0:2}"
packed=$mirror/.build-id/${id:0:2}/${id:2}.debug
mv "$mirror/$id/debuginfo" "$packed"
said "and by one as packages have it" "$want"
: >"$mirror/$id/debuginfo"
mv "$packed" "$dir/symbols.debug"
said "debuginfod's empty file is none" "$nothing"
cp "$dir/strange" "$mirror/$id/debuginfo"
said "another program's debug file does not count" "$nothing"
head -c 3000 "$dir/symbols" >"$mirror/$id/debuginfo"
said "nor does half of one" "$nothing"
rm "$mirror/$id/debuginfo"
mkfifo "$mirror/$id/debuginfo"
said "a pipe stops nobody" "$nothing"
rm "$mirror/$id/debuginfo"

# Through the profiler.
cp "$dir/symbols" "$mirror/$id/debuginfo"
begin "$dir/$prog"
named="process=$prog};.*;main;burns_unseen "
is_named() { at_least 20 "$named"; }
sample_until is_named -s 1000 -m "$mirror"
n=$(samples "$out" "$named") nameless=$(samples "$out" ";$prog[+]0x")
expect "samples are named" "$n samples" "$n" -ge 20
expect "all of them" "$nameless of the others" "$nameless" = 0
"$driver" -m "$dir/missing" -n 0 >"$dir/off" 2>/dev/null
expect "a mirror that is missing is said" "$(grep '^state' "$dir/off")" \
	"$(grep -c "^state 3 .* mirror: $dir/missing cannot be opened" \
	"$dir/off")" = 1
