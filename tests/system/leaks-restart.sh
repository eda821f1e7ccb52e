#!/bin/bash
# A program that leaks is killed and started anew: the leak goes on, which is
# seen in the few seconds since then by what the one before it did.
. "$(dirname "$0")/daemon-lib.bash"
need_root "leaks over a restart"
configure 500ms 500ms
start_daemon one -s "$dir/store"
begin "$dir/fcgi.log" "$BUILD/memlens-fcgi" -s "$dir/store" -l "$dir/fcgi" -p all

program=$dir/leaks_anew
cat >"$dir/leaks.c" <<'END'
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept;

__attribute__((noinline)) static void
leaks(void)
{
	kept = malloc(1 << 20);
}

int
main(void)
{
	for (;;) {
		leaks();
		usleep(20000);
	}
}
END
gcc -O1 -fno-builtin -o "$program" "$dir/leaks.c" || exit 1

# lives SECONDS
lives() {
	LD_PRELOAD=$BUILD/libmemlens-alloc.so "$program" &
	pids+=("$!")
	sleep "$1"
}
leaks() { # FILTER
	local uri="/api/v1/leaks?service=leaks_anew&from=$began&until=$now"

	REQUEST_METHOD=GET REQUEST_URI="$uri" QUERY_STRING="${uri#*\?}" \
		cgi-fcgi -bind -connect "$dir/fcgi" 2>/dev/null |
		sed '1,/^\r*$/d' >"$dir/answer"
	jq -r "$1" "$dir/answer"
}

began=$EPOCHREALTIME
lives 8
end "${pids[-1]}" KILL
killed=$EPOCHREALTIME
lives 3
now=$EPOCHREALTIME
sleep 1.5 # it is in the store
expect "the leak is a suspect" "$(leaks '[.suspects[] | .stack |
	map(select(. == "leaks"))[]] | join(" ")')" leaks
at=$(leaks '.suspects[0].restarted')
expect_true "since the program was restarted ($at, killed at $killed)" awk \
	-v a="$at" -v k="$killed" 'BEGIN { d = k - a; exit !(d > -0.6 && d < 0.6) }'
expect "and so is all" "$(leaks '.total.state, .total.restarted')" "growing
$at"
[ "$at" != null ] || head -c 3000 "$dir/answer"
