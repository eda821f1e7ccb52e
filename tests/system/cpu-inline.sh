#!/bin/bash
# Functions that the compiler put into others: shown, above the function that
# holds them, when that is asked for, and else not.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
cat >"$dir/inlined.cc" <<'END'
#include <time.h>
volatile unsigned sink;
namespace kv {
__attribute__((always_inline)) static inline void Mix(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink = sink * 25214903 + i;
}
__attribute__((always_inline)) static inline void Lookup(unsigned n)
{
	for (unsigned i = 0; i < 10; i++)
		Mix(n);
}
}
__attribute__((noinline)) void serve(unsigned n)
{
	kv::Lookup(n);
	sink += n;
}
int main()
{
	time_t end = time(0) + 60;
	while (time(0) < end)
		serve(100000);
}
END
g++ -O2 -g -o "$dir/inlined_yes" "$dir/inlined.cc" &&
	cp "$dir/inlined_yes" "$dir/inlined_no" &&
	strip -g "$dir/inlined_no" || { not_ok "compiles"; exit 1; }
begin "$dir/inlined_yes"
begin "$dir/inlined_no"
"$driver" -i -s 1000 -n 8 >"$out" 2>"$dir/err"
need_attached "$out"
all=$(samples "$out" '^stack .* inlined_yes .*;serve')
deep=$(samples "$out" '^stack .* inlined_yes .*;serve[^;]*;kv::Lookup[^;]*;kv::Mix')
expect "inlined functions stand above the one that holds them" \
	"$deep of $all" "$deep" -ge 5 -a $((deep * 2)) -gt "$all"
frames=$(grep -c '^frame inlined inlined_yes [0-9a-f]* 0x0 kv::' "$out")
expect "they are frames of a kind of their own" "$frames" "$frames" -ge 2
none=$(samples "$out" '^stack .* inlined_no .*kv::')
plain=$(samples "$out" '^stack .* inlined_no .*;serve')
expect "none without debug information" "$none beside $plain" \
	"$none" = 0 -a "$plain" -ge 5
"$driver" -s 1000 -n 4 >"$out" 2>"$dir/err"
none=$(samples "$out" 'kv::Mix')
plain=$(samples "$out" '^stack .* inlined_yes .*;serve')
expect "none when nobody asks" "$none beside $plain" \
	"$none" = 0 -a "$plain" -ge 3
restarts=$(awk '/^counter .*child_restarts_total/ { n += $(NF - 1) }
	END { print n + 0 }' "$out")
expect "the symbols child lives" "$restarts" "$restarts" = 0
