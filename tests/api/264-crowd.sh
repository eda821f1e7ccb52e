#!/bin/bash
# More clients at once than nginx lets in: each has an answer, and who is not
# let in a 429 that says when to come again; nobody's connection breaks.
. tests/api/lib
. tests/api/stack
. tests/live/port.sh
ulimit -n "$(ulimit -Hn)"
[ "$(ulimit -n)" = unlimited ] || [ "$(ulimit -n)" -ge 8192 ] || {
	echo "skip - fewer than 8,192 descriptors"
	exit 77
}
[ "$(cat /proc/sys/net/core/somaxconn)" -ge 1400 ] || {
	echo "skip - fewer than 1,400 may wait before a socket"
	exit 77
}
free_port PORT
start_stack -j 1
start_nginx
busy=$(cat /proc/$worker/task/$worker/children)
busy=${busy%% *}

# a worker that stands still is one that computes for ever
kill -STOP $busy
python3 tests/api/264-crowd.py $PORT 1500 "$T/answered" >"$T/body" &
crowd=$!
turned_away()
{
	[ "$(cat "$T/answered" 2>/dev/null)" = 100 ]
}
check "who is not let in is told at once" await 60 turned_away
kill -CONT $busy
wait $crowd
check "nobody is without an answer" [ "$(awk '{ n += $3 } END { print n }' \
    "$T/body")" = 1500 ]
check "200, or a 429 that says when to come again" [ "$(grep -cvE \
    '^(200 -|429 retry) ' "$T/body")" = 0 ]
again()
{
	[ "$(curl -s -o "$T/body" -w '%{http_code}' "$base/api/v1/services")" \
	    = 200 ]
}
check "and then the next is answered" await 60 again
exit $bad
