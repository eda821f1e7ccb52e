#!/bin/bash
# A progress line on a terminal, and nothing of it elsewhere: export, import,
# stat, verify and purge under a pseudo-terminal, with a clock that jumps.
. "$(dirname "$0")/daemon-lib.bash"
command -v script >/dev/null || { echo "skip - no script(1)"; exit 77; }
cat >"$dir/jump.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *t)
{
	static int (*real)(clockid_t, struct timespec *);
	static int calls;
	if (!real)
		real = (int (*)(clockid_t, struct timespec *))
		    dlsym(RTLD_NEXT, "clock_gettime");
	int bad = real(clock, t);
	if (clock == CLOCK_MONOTONIC)
		t->tv_sec += 2 * calls++;
	return bad;
}
END
gcc -shared -fPIC -o "$dir/jump.so" "$dir/jump.c" -ldl || {
	not_ok "the clock is built"
	exit
}
"$BUILD/api/fill_store" "$dir/store" 1700000000 720
on_terminal() { # COMMAND...: what the terminal shows
	script -qec "env LD_PRELOAD=$dir/jump.so $BUILD/memlens $*" /dev/null \
		</dev/null 2>&1
}
for command in "export $dir/store 0 now $dir/file" "import $dir/file $dir/copy" \
	"stat $dir/store" "verify $dir/store" \
	"purge $dir/copy cpu 1699999000 1700000000"; do
	expect_text "${command%% *} shows how far it is" \
		"$(on_terminal "$command" | tr '\r' '\n')" \
		"^memlens ${command%% *}: *[0-9]* %, [0-9]* s"
done
rm "$dir/file"
quiet=$(LD_PRELOAD=$dir/jump.so "$BUILD/memlens" export "$dir/store" 0 now \
	"$dir/file" 2>&1)
expect "elsewhere there is no such line" "$(grep -c ' %' <<<"$quiet")" 0
expect_text "a store says what its bytes are" \
	"$("$BUILD/memlens" stat "$dir/store")" 'level  0'

# The store's own arithmetic: what the parts sum up to is on the disk.
sum=$("$BUILD/memlens" stat "$dir/store" | awk '
	/^  level/ { n += $(NF - 2) }
	/^  (names|pages)/ { n += $NF }
	END { print n }')
disk=$(awk '$1 ~ /span|late|summary/ { n += $7 } END { print n }' \
	"$dir/store/manifest")
expect "levels, names and pages are all the bytes of the files" "$sum" "$disk"

# What verify must see.
check() { "$BUILD/memlens" verify "$dir/broken" 2>&1; }
broken() { rm -rf "$dir/broken" && cp -r "$dir/store" "$dir/broken"; }
broken
touch "$dir/broken/span-3-64-999.mdb"
expect_text "verify sees a file that no manifest names" "$(check)" \
	"not in the manifest"
broken
victim=$(awk '$1 == "span" { print $8; exit }' "$dir/broken/manifest")
python3 - "$dir/broken/$victim" <<'END'
import os, sys
with open(sys.argv[1], 'r+b') as f:
    at = os.path.getsize(sys.argv[1]) // 2
    f.seek(at)
    byte = f.read(1)[0]
    f.seek(at)
    f.write(bytes([byte ^ 1]))
END
expect_text "verify sees a flipped bit" "$(check)" "1 problems"
broken
rm "$dir/broken/$victim"
expect_text "verify sees that a file is missing" "$(check)" "No such file"
broken
echo more >>"$dir/broken/$victim"
expect_text "verify sees that a file has grown" "$(check)" "problems"
expect_text "and an untouched copy is clean" \
	"$("$BUILD/memlens" verify "$dir/store")" clean
