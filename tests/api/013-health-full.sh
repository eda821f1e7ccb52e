#!/bin/bash
# A full disk is a state that health names, before the newest slot is old.
. tests/api/lib
. tests/api/stack
SLOT=1s
STORE_LINES='reserve = 100TiB' start_stack
state()
{
	get GET /api/v1/health
	js "d.store.state === '$1'"
}
check "a full disk: health says so" await 60 state full
check "and why nothing is stored" js \
    '/the disk is full/.test(d.reason) && d.status !== "ok"'
kill $daemon
wait $daemon
check "without a collector nothing is said of the disk" await 60 eval \
    'get GET /api/v1/health; js "d.store.state !== \"full\""'
STORE_LINES= start_daemon
check "with room again it is whole" await 60 state ok
exit $bad
