#!/bin/sh
# Nobody writes: the newest slot is old.
. tests/api/lib
END=$(($(date +%s) - 60))
start
get GET /api/v1/health
check "a dead collector is still a 200" status 200
check "it is down, and says why" js 'd.status === "down" && /old/.test(d.reason)'
exit $bad
