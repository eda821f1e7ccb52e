#!/bin/sh
# A request that takes too long is told so; one that cannot even be told ends
# its worker, not the service.
. tests/api/lib
run_target
cat >"$T/conf" <<-END
	[worker]
	deadline = 12s
	[kv]
	target = 127.0.0.1:$PORT
	timeout = 60s
	END
run_worker -j 1 -c "$T/conf"
crew()
{
	cat "/proc/$worker/task/$worker/children"
}
has_crew()
{
	[ -n "$(crew)" ]
}
await 60 has_crew
before=$(crew)
get GET /api/v1/kv/bad-hang
check "too late: 503" status 503
check "and when to come again" header "Retry-After:"
check "and why" js '/took too long/.test(d.detail)'
check "by a worker that goes on" [ "$(crew)" = "$before" ]

# a web server that says nothing
python3 - "$T/sock" <<'END' &
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.send(b"\1")
time.sleep(600)
END
holder=$!
check "the log says why" await 120 grep -q 'took too long' "$T/log"
kill $holder
# A machine that is busy may need more than the deadline for that, too.
answered()
{
	get GET /api/v1/kv/packets
	status 200
}
check "the next request is answered" await 60 answered
check "by another worker" [ "$(crew)" != "$before" ]
exit $bad
