#!/bin/sh
# A playground that may not write, and one without a target.
. tests/api/lib
run_worker
get PUT /api/v1/kv/a
check "writing is off unless allowed" status 403
get GET /api/v1/kv/a
check "no target is a 404" status 404
exit $bad
