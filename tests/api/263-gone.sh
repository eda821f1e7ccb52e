#!/bin/bash
# Whoever has gone is not worked for: what is being done for them ends, and
# what waits for a worker is not begun.
. tests/api/lib
. tests/api/stack
. tests/live/port.sh
free_port WEB
PORT=
run_target
kvport=$PORT PORT=$WEB
kv=$target
trap 'kill $kv; stop_stack' EXIT
start_daemon
cat >"$T/fcgi.conf" <<-END
	[collector]
	socket = $T/memlensd.sock
	[worker]
	deadline = 10m
	[kv]
	target = 127.0.0.1:$kvport
	timeout = 20s
	allow-put = yes
END
run_worker -c "$T/fcgi.conf" -j 1
start_nginx
child()
{
	set -- $(cat /proc/$worker/task/$worker/children)
	[ $# = 1 ] && one=$1
}
wait_until child
asked() # KEY N: so often?
{
	curl -s -m 30 "$base/api/v1/kv/asked-$1" >"$T/body" &&
	    js "Number(d.value) === $2"
}

# in the middle: the only worker waits for 20 s; with its client gone the next
# is answered at once, by the same worker
began=$(date +%s)
get GET /api/v1/kv/bad-hang
whole=$(($(date +%s) - began))
check "work takes its time ($whole s)" [ $whole -ge 20 ]
curl -s -o /dev/null "$base/api/v1/kv/bad-hang" &
client=$!
hangs() # a connection to the target's port is established
{
	awk -v port=":$(printf %04X "$kvport")" '$4 == "01" &&
	    substr($3, 9) == port { found = 1 }
	    END { exit !found }' /proc/net/tcp
}
wait_until hangs
began=$(date +%s)
kill $client
wait $client 2>/dev/null
curl -s -m 50 -o /dev/null "$base/api/v1/services"
took=$(($(date +%s) - began))
check "work ends with its client ($took of $whole s)" \
    [ $took -lt $((whole / 2)) ]
before=$one
child
check "and its worker goes on" [ "$one" = "$before" ]

# in the queue: the worker stands still while clients come and go
kill -STOP $one
clients=
for i in 1 2 3 4 5 6; do
	curl -s -o /dev/null "$base/api/v1/kv/hello" &
	clients="$clients $!"
done
curl -s -o /dev/null -X PUT --data-binary there "$base/api/v1/kv/written" &
clients="$clients $!"
wait_until queued 7 "$T/sock"
kill $clients
wait $clients 2>/dev/null
wait_until left
kill -CONT $one
check "what nobody waits for is not begun" asked hello 0
stored()
{
	curl -s "$base/api/v1/kv/written" >"$T/body" &&
	    js 'd.value === "there"'
}
check "but a write is carried out" await 60 stored
check "all by the same worker" [ "$(cat \
    /proc/$worker/task/$worker/children)" = "$before " ]
exit $bad
