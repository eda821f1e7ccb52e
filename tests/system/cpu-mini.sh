#!/bin/bash
# A stripped program as Fedora and its kin ship them: its own functions have
# names only in what xz has packed into section .gnu_debugdata.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
mini=mini_$tag
cat >"$dir/mini.c" <<'C'
volatile unsigned sum;
static __attribute__((noinline)) void burns_unseen(void)
{
	for (int i = 0; i < 100000; i++)
		sum = sum * 1664525 + 1;
}
static __attribute__((noinline)) void calls_unseen(void)
{
	for (;;) {
		burns_unseen();
		sum++;
	}
}
int main(void)
{
	calls_unseen();
	return (int)sum;
}
C
gcc -O2 -o "$dir/whole" "$dir/mini.c" &&
	objcopy --only-keep-debug "$dir/whole" "$dir/symbols" &&
	python3 - "$dir/symbols" "$dir/packed" <<'PY' &&
import lzma
import sys
with open(sys.argv[1], 'rb') as f, open(sys.argv[2], 'wb') as g:
    g.write(lzma.compress(f.read()))
PY
	strip "$dir/whole" &&
	objcopy --add-section .gnu_debugdata="$dir/packed" "$dir/whole" \
		"$dir/$mini" || { not_ok "a program with packed symbols"; exit 1; }
expect "it has no symbols of its own" "$(nm "$dir/$mini" 2>&1)" \
	-z "$(nm "$dir/$mini" 2>/dev/null)"
begin "$dir/$mini"
# And one in which they are cut off.
broken=cut_$tag
head -c 200 "$dir/packed" >"$dir/part"
objcopy --add-section .gnu_debugdata="$dir/part" "$dir/whole" "$dir/$broken"
begin "$dir/$broken"
named="process=$mini};.*;main;calls_unseen;burns_unseen "
unpacked='^counter .*symbols_files_unpacked_total'
is_named() {
	at_least 20 "$named" && at_least 20 "process=$broken}" &&
		grep -q "$unpacked .* [1-9]" "$out"
}
sample_until is_named -s 1000
n=$(samples "$out" "$named") nameless=$(samples "$out" ";$mini[+]0x")
expect "its functions are named" "$n samples" "$n" -ge 20
expect "all of them" "$nameless of the others" "$nameless" = 0
n=$(awk "/$unpacked/"' { n += $(NF - 1) } END { print n + 0 }' "$out")
expect "a file whose names are cut off is counted" "$n" "$n" = 1
expect_why=$(grep -c "$broken: what .gnu_debugdata names is damaged" "$dir/err")
expect "and said" "$(tail -n 3 "$dir/err")" "$expect_why" = 1
