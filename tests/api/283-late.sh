#!/bin/bash
# A push that cannot end in time ends with an answer, before its worker does:
# it is not stored, and the answer says so and when to come again.
. tests/api/lib
. tests/api/stack
start_daemon
cat >"$T/fcgi.conf" <<-END
	[collector]
	socket = $T/memlensd.sock
	[worker]
	deadline = 15s
END
run_worker -j 1 -c "$T/fcgi.conf"
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
at=1700000000
window="name=app&from=$at&until=$((at + 10))"
total() { [ "$(counted 'cpu{service="app"}' $at $((at + 10)))" = "$1" ]; }
echo 'main;work 100' >"$T/a.folded"
echo 'main;work 7' >"$T/b.folded"

# nobody takes it, and two tries of 10 s are longer than there is time
kill -STOP "$daemon"
put "$T/a.folded" "/ingest?$window"
kill -CONT "$daemon"
check "an answer in time: 503" status 503
check "and when to come again" header "Retry-After:"
check "and why" js '/took too long/.test(d.detail)'
check "by a worker that goes on" [ "$(crew)" = "$before" ]
put "$T/b.folded" "/ingest?$window"
check "the next one is taken" status 200
check "what was refused is not stored" await 30 total 7

# the time that a push has waited for a worker is not given again
kill -STOP "$daemon"
began=$(date +%s)
put "$T/a.folded" "/ingest?$window" MEMLENS_SENT=$((began - 9)).5
took=$(($(date +%s) - began))
kill -CONT "$daemon"
check "after a wait: 503" js '/took too long/.test(d.detail)'
check "in the rest of the time ($took s)" [ $took -lt 10 ]
put "$T/b.folded" "/ingest?$window"
check "what was refused is not stored either" await 30 total 14
exit $bad
