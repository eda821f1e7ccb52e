#!/bin/sh
# The worker runs before the collector has made a store.
. tests/api/lib
run_worker
get GET /api/v1/health
check "health without a store is 200" status 200
check "health without a store is down" js 'd.status === "down" &&
    /no store/.test(d.reason) && d.store.state === "missing" &&
    d.store.from === null'
get GET /api/v1/services
check "other questions are not yet" status 503
check "and say when to ask again" header 'Retry-After: '
fill
get GET /api/v1/services
check "the store is found when it comes" status 200
exit $bad
