#!/bin/bash
# While every worker for queries is busy, and more wait, health and metrics
# answer as ever: they have workers of their own.
. tests/api/lib
. tests/api/stack
. tests/live/port.sh
free_port PORT
start_daemon
printf '[collector]\nsocket = %s\n' "$T/memlensd.sock" >"$T/fcgi.conf"
run_worker -c "$T/fcgi.conf" -j 1
start_nginx
"$B/memlens-fcgi" -s "$T/store" -c "$T/fcgi.conf" -p query -j 1 \
    -l "$T/query" 2>>"$T/log" &
query=$!
"$B/memlens-fcgi" -s "$T/store" -c "$T/fcgi.conf" -p health \
    -l "$T/health" 2>>"$T/log" &
health=$!
trap 'kill $query $health; stop_stack' EXIT
wait_until grep -q " 00010000 .* $T/query\$" /proc/net/unix
wait_until grep -q " 00010000 .* $T/health\$" /proc/net/unix
ln -sf "$T/query" "$web/sockets/query.sock"
ln -sf "$T/health" "$web/sockets/health.sock"
only()
{
	[ "$(cat /proc/$query/task/$query/children | wc -w)" = 1 ]
}
wait_until only
busy=$(cat /proc/$query/task/$query/children)
busy=${busy%% *}
wait_until curl -sf -o /dev/null "$base/api/v1/services"

# a worker that stands still is one that computes for ever
kill -STOP $busy
waiting=
for i in 1 2 3 4 5; do
	curl -s -o "$T/late.$i" -w '%{http_code}' "$base/api/v1/services" \
	    >"$T/code.$i" &
	waiting="$waiting $!"
done
code()
{
	curl -s -m 20 -o "$T/body" -w '%{http_code}' "$base$1"
}
check "health answers" [ "$(code /api/v1/health)" = 200 ]
check "by itself" js 'd.status !== undefined'
check "and so do metrics" [ "$(code /metrics)" = 200 ]
wait_until queued 5 "$T/query"
check "queries wait" [ ! -s "$T/code.1" ]
sleep 11 # since nginx has sent the last of them on
kill -CONT $busy
wait $waiting
late=$(grep -l '^429$' "$T"/code.? | wc -l)
cp "$T/late.1" "$T/body"
check "what has waited for 10 seconds is refused ($late of 5)" \
    [ "$late" = 5 ]
again()
{
	[ "$(code /api/v1/services)" = 200 ]
}
check "what comes then is answered" await 60 again
exit $bad
