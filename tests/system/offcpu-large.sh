#!/bin/bash
# Of a thread that waits on a copy of its stack is walked: more of it when the
# first part was not enough.  A frame of 16 KB, as those of a database's
# statements are together, is walked over by the third slot.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/waits.sh"
out=$dir/out name=large_$tag
gcc -O1 -pthread -o "$dir/$name" -x c - <<'END_C' || exit 1
#include <poll.h>
static char volatile *seen;
__attribute__((noinline)) static int waits_long(void)
{
	int r = poll(0, 0, 60000);
	seen = 0;
	return r;
}
__attribute__((noinline)) static int large_frame(void)
{
	char volatile large[16384];
	seen = large;
	int r = waits_long();
	return r + large[5];
}
__attribute__((noinline)) static int small_frame(void)
{
	char volatile small[6000];
	seen = small;
	int r = waits_long();
	return r + small[5];
}
int main(int argc, char **argv)
{
	return (argc > 1 ? small_frame() : large_frame()) == 0;
}
END_C
cp "$dir/$name" "$dir/small_$tag"
begin "$dir/$name"
begin "$dir/small_$tag" yes
begin_driver -s 1000 -w 1000 -o auto
whole() { at_least 1 "^stack [0-9]+ $1 .*;main;$2;waits_long"; }
cut() { samples "$out" "^stack [0-9]+ $1 .*truncated"; }
seen whole "$name" large_frame
at=$(grep -ac '^child' "$out")
expect "a large stack is whole by the third slot" "$at slots" "$at" -le 5
expect "the parts of a second or two are marked" "$(cut "$name")" \
	"$(cut "$name")" -le 3500000000
seen whole "small_$tag" small_frame
end_driver
expect "a smaller one at once" "$(cut "small_$tag")" "$(cut "small_$tag")" = 0
