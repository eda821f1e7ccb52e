#!/bin/bash
# memlens run: executes a program with the library, keeps what is preloaded,
# and says what is missing.
. "$(dirname "$0")/daemon-lib.bash"
mkdir -p "$dir/as/bin" "$dir/as/lib/memlens" "$dir/none" "$dir/a blank"
cp "$BUILD/memlens" "$dir/as/bin/"
cp "$BUILD/memlens" "$dir/none/"
cp "$BUILD/libmemlens-alloc.so" "$dir/as/lib/memlens/"
cp "$BUILD/memlens" "$BUILD/libmemlens-alloc.so" "$dir/a blank/"
installed=$(realpath "$dir/as/lib/memlens/libmemlens-alloc.so")
beside=$(realpath "$BUILD/libmemlens-alloc.so")
unset LD_PRELOAD

expect "the library beside the program is preloaded" \
	"$("$BUILD/memlens" run printenv LD_PRELOAD)" "$beside"
expect_text "and mapped" "$("$BUILD/memlens" run -- cat /proc/self/maps)" \
	"$beside"
expect "and that of its prefix, though memlens is called by a link" \
	"$(ln -s "$dir/as/bin/memlens" "$dir/link" &&
	"$dir/link" run -- printenv LD_PRELOAD)" "$installed"
expect "what is preloaded stays, behind it" \
	"$(LD_PRELOAD=libm.so.6 "$BUILD/memlens" run printenv LD_PRELOAD)" \
	"$beside:libm.so.6"
expect "and it is named once" \
	"$("$BUILD/memlens" run "$BUILD/memlens" run printenv LD_PRELOAD)" \
	"$beside"
expect "arguments that look like ours are the program's" \
	"$("$BUILD/memlens" run -- printf '%s,' -- -h 'a b')" "--,-h,a b,"
expect "the program's status is ours" \
	"$("$BUILD/memlens" run sh -c 'exit 7'; echo $?)" 7

# without the symbols of glibc that it has not
cat >"$dir/musl.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int
main(void)
{
	for (int i = 0; i < 100; i++)
		free(realloc(malloc(1 << 20), 3 << 20));
	if (fork() == 0)
		_exit(malloc(1 << 20) == NULL);
	wait(NULL);
	return puts("ended") < 0;
}
END
musl-gcc -O1 -o "$dir/musl" "$dir/musl.c"
expect "a program of musl runs with it" \
	"$("$BUILD/memlens" run "$dir/musl" 2>&1)" ended

# said STATUS TEXT COMMAND...
said() {
	local status=$1 text=$2
	shift 2
	"$@" 2>"$dir/err"
	expect "$text: status" $? "$status"
	expect_text "$text" "$(cat "$dir/err")" "$text"
}
said 127 "no-such-program: No such file" "$BUILD/memlens" run no-such-program
said 126 "Permission denied" "$BUILD/memlens" run /etc/passwd
said 2 "libmemlens-alloc.so is neither beside memlens" "$dir/none/memlens" \
	run true
said 2 "cannot be preloaded" "$dir/a blank/memlens" run true
said 2 "usage: memlens run" "$BUILD/memlens" run
said 2 "usage: memlens run" "$BUILD/memlens" run --
said 2 "usage: memlens run" "$BUILD/memlens" run --library x
