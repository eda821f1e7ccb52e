#!/bin/bash
# Debug information that dwz has moved to a file of several programs: inlined
# functions have their names and lines all the same, from the file with the
# right build id only.
. "$(dirname "$0")/lib/cpu.sh"
command -v dwz >/dev/null || { echo "skip - no dwz"; exit 77; }
names=$BUILD/system/cpu_names

# Two programs with the same header.
cat >"$dir/shared.h" <<'END'
extern volatile unsigned sink;
namespace shared {
struct Row { unsigned a, b, c; const char *text; Row *next; };
__attribute__((always_inline)) static inline void Innermost(unsigned n)
{
	Row row = {n, n, n, 0, 0};
	sink += row.a;
	asm volatile(".globl place_of_innermost\nplace_of_innermost: nop");
	sink ^= row.b;
}
__attribute__((always_inline)) static inline void Between(unsigned n)
{
	Innermost(n * 3);
}
}
END
for p in one two; do
	cat >"$dir/$p.cc" <<-END
	#include "shared.h"
	volatile unsigned sink;
	__attribute__((noinline)) void serve_$p(unsigned n)
	{ shared::Between(n); sink += n; }
	int main() { serve_$p(1); }
	END
	g++ -O2 -g -Wl,--build-id -I"$dir" -o "$dir/$p" "$dir/$p.cc" ||
		{ not_ok "compiles"; exit 1; }
done
mkdir -p "$dir/debug/.dwz" "$dir/debug/.build-id"
build_id() {
	readelf -n "$1" | awk '/Build ID/ { print $NF }'
}
# As Debian's packages have it: the debug file beside, by build id.
debug_file() { # PROGRAM FILE
	local id
	id=$(build_id "$1")
	mkdir -p "$dir/debug/.build-id/${id:0:2}"
	cp "$2" "$dir/debug/.build-id/${id:0:2}/${id:2}.debug"
}
cp "$dir/one" "$dir/plain"
dwz -m "$dir/debug/.dwz/common.debug" \
	-M /usr/lib/debug/.dwz/common.debug "$dir/one" "$dir/two" ||
	{ not_ok "dwz works"; exit 1; }
expect "dwz has moved something" "$(readelf -SW "$dir/one")" \
	-n "$(readelf -SW "$dir/one" | grep gnu_debugaltlink)"
# The label's place in the file, by the segment of its address.
offset() {
	local at kind off vaddr rest size
	at=0x$(nm "$1" | awk '/place_of_innermost/ { print $1 }')
	readelf -lW "$1" | grep LOAD |
	while read -r kind off vaddr rest size rest; do
		((at >= vaddr && at < vaddr + size)) &&
			printf '0x%x\n' $((at - vaddr + off))
	done
}
ask() { # FILE
	"$names" "$dir/debug/.build-id" "$1" "$(offset "$1")" \
		>"$dir/names" 2>"$dir/err"
}
said() { # NAME PATTERN : frames of that kind, name and place
	grep -Eq "$2" "$dir/names" && ok "$1" || not_ok "$1" \
		"$(cat "$dir/names" "$dir/err")"
}
cut='s/^frame 0x[0-9a-f]* //'
ask "$dir/plain"
sed "$cut" "$dir/names" >"$dir/want"
expect "the program itself has three frames" "$(cat "$dir/want")" \
	"$(grep -c . "$dir/want")" = 3
for p in one two; do
	ask "$dir/$p"
	said "$p: the inlined one, by the shared file's name" \
		'^frame 0x[0-9a-f]+ inlined shared::Between(\(unsigned int\))? .*/shared\.h:11$'
	said "$p: the innermost too" \
		'^frame 0x[0-9a-f]+ inlined shared::Innermost(\(unsigned int\))? .*/shared\.h:4$'
	said "$p: the function itself" \
		"^frame 0x[0-9a-f]+ native serve_$p\\(unsigned int\\) .*/$p\\.cc:3\$"
done
ask "$dir/one"
sed "$cut" "$dir/names" | cmp -s - "$dir/want" && ok "as before dwz" ||
	not_ok "as before dwz" "$(cat "$dir/names" "$dir/want")"

# A stripped program whose debug file shares.
objcopy --only-keep-debug "$dir/one" "$dir/one.debug"
cp "$dir/one" "$dir/stripped"
strip -s "$dir/stripped"
debug_file "$dir/one" "$dir/one.debug"
"$names" "$dir/debug/.build-id" "$dir/stripped" "$(offset "$dir/one")" \
	>"$dir/names" 2>"$dir/err"
sed "$cut" "$dir/names" | cmp -s - "$dir/want" &&
	ok "from a debug file that shares" ||
	not_ok "from a debug file that shares" "$(cat "$dir/names" "$dir/want")"
rm -r "$dir/debug/.build-id"/*

# Another file of that name is not it, and no file is none.
bare() {
	ask "$dir/one"
	expect "$1" "$(cat "$dir/names" "$dir/err")" \
		"$(sed "$cut" "$dir/names" | cut -d ' ' -f 1)" = native -a \
		"$(grep -c . "$dir/names")" = 1 -a \
		-z "$(grep restarted "$dir/err")"
}
cp "$dir/debug/.dwz/common.debug" "$dir/common"
cp "$dir/plain" "$dir/debug/.dwz/common.debug"
bare "another file in its place does not count"
rm "$dir/debug/.dwz/common.debug"
bare "without the shared file: the name alone"
mkfifo "$dir/debug/.dwz/common.debug"
bare "nor does a pipe stop it"
rm "$dir/debug/.dwz/common.debug"
id=$(readelf -n "$dir/common" 2>/dev/null | awk '/Build ID/ { print $NF }')
mkdir -p "$dir/debug/.build-id/${id:0:2}"
cp "$dir/common" "$dir/debug/.build-id/${id:0:2}/${id:2}.debug"
ask "$dir/one"
sed "$cut" "$dir/names" | cmp -s - "$dir/want" && ok "found by its build id" ||
	not_ok "found by its build id" "$(cat "$dir/names" "$dir/err")"
