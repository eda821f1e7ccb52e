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
	time_t end = time(0) + 900;
	while (time(0) < end)
		serve(100000);
}
END
yes=inl_yes_$tag no=inl_no_$tag lto=inl_lto_$tag
g++ -O2 -g -o "$dir/$yes" "$dir/inlined.cc" && own "$dir/$yes" inl_no &&
	strip -g "$dir/$no" &&
	g++ -O2 -g -flto -o "$dir/$lto" "$dir/inlined.cc" || { not_ok "compiles"; exit 1; }
begin "$dir/$yes"
begin "$dir/$no"
begin "$dir/$lto"
served=";serve"
deep="$served[^;]*;kv::Lookup[^;]*;kv::Mix"
told() { # NAME LINE : where a function was written
	grep -Eq "^fact $1(\([^)]*\))? [^	]*/inlined\.cc:$2	$yes	[0-9a-f]+\$" \
		"$out"
}
shown() {
	local all
	told kv::Mix 4 && told kv::Lookup 9 && told serve 15 || return
	all=$(samples "$out" "^stack .* $yes .*$served")
	at_least $((all / 2 + 1)) "^stack .* $yes .*$deep" &&
		at_least 20 "^stack .* $yes .*$deep" &&
		at_least 5 "^stack .* $no .*$served" &&
		at_least 5 "^stack .* $lto .*$deep"
}
sample_until shown -i -s 1000
all=$(samples "$out" "^stack .* $yes .*$served")
deep=$(samples "$out" "^stack .* $yes .*$deep")
expect "inlined functions stand above the one that holds them" \
	"$deep of $all" "$deep" -ge 5 -a $((deep * 2)) -gt "$all"
ok "it is told where they were written"
linked=$(samples "$out" "^stack .* $lto .*$served[^;]*;kv::Lookup[^;]*;kv::Mix")
expect "inlined functions of a program optimised when it was linked" \
	"$linked" "$linked" -ge 5
frames=$(grep -c "^frame inlined $yes [0-9a-f]* 0x0 kv::" "$out")
expect "they are frames of a kind of their own" "$frames" "$frames" -ge 2
none=$(samples "$out" "^stack .* $no .*kv::")
plain=$(samples "$out" "^stack .* $no .*$served")
expect "none without debug information" "$none beside $plain" \
	"$none" = 0 -a "$plain" -ge 5
sampled() { at_least 10 "^stack .* $yes .*$served"; }
sample_until sampled -s 1000
none=$(samples "$out" 'kv::Mix')
plain=$(samples "$out" "^stack .* $yes .*$served")
expect "none when nobody asks" "$none beside $plain" \
	"$none" = 0 -a "$plain" -ge 3
restarts=$(awk '/^counter .*child_restarts_total/ { n += $(NF - 1) }
	END { print n + 0 }' "$out")
expect "the symbols child lives" "$restarts" "$restarts" = 0
