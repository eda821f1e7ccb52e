#!/bin/bash
# A push that is answered with 503 because the daemon does not run is not
# stored when it goes on, so that the client's retry counts once.
. tests/api/lib
. tests/api/stack
start_stack
printf 'main;work 7\n' >"$T/first"
printf 'main;work 100\n' >"$T/second"
at=1700000000
window="name=app&from=$at&until=$((at + 10))&format=folded&units=samples"
sum() { counted 'cpu{service="app"}' $at $((at + 10)); }
total() { [ "$(sum)" = "$1" ]; }
put "$T/first" "/ingest?$window"
check "a push is taken" status 200
check "and counts" await 30 total 7
kill -STOP "$daemon"
put "$T/second" "/ingest?$window"
check "while the daemon is stopped one is refused" status 503
kill -CONT "$daemon"
put "$T/first" "/ingest?$window"
check "the daemon goes on" status 200
check "what was refused is not stored" await 30 total 14
put "$T/second" "/ingest?$window"
check "the client's retry is" status 200
check "and counts once" await 30 total 114
exit $bad
