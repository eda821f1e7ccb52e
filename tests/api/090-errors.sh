#!/bin/sh
# Paths, methods, pools.
. tests/api/lib
start
# First: the newest values are of the last minute, or there are none.
get GET /metrics
check "metrics" grep -q '^node_cpu_seconds_total{cpu="0",mode="user"} ' "$T/body"
check "their types" grep -q '^# TYPE test_gauge_bytes gauge' "$T/body"
check "their Content-Type" header 'Content-Type: text/plain; version=0.0.4'
get GET /api/v1/nope
check "an unknown path is a 404" status 404
check "errors have three members" js 'Object.keys(d).join() ===
    "error,field,detail" && d.error === "not found" && d.field === null'
check "errors are not kept" header 'Cache-Control: no-store'
check "nothing is sniffed" header 'X-Content-Type-Options: nosniff'
get POST /api/v1/health
check "another method is a 405" status 405
check "Allow" header 'Allow: GET, HEAD'
get PUT /metrics
check "metrics are only read" status 405
get HEAD /api/v1/health
check "HEAD is GET" status 200
check "without the body" [ ! -s "$T/body" ]
check "but with its length" header 'Content-Length: [1-9]'
get GET 'http://host/api/v1/health'
check "an absolute request URI" status 200
get GET /sub/path/api/v1/health MEMLENS_PREFIX=/sub/path
check "a prefix" status 200
get GET "/$(printf '%09000d' 0)"
check "a long path is a 414" status 414
get GET "/api/v1/health?$(printf '%020000d' 0)"
check "a long query is a 414" status 414
kill $worker; wait $worker; worker=
run_worker -p query
get GET /api/v1/kv/a
check "another pool's page is a 404" status 404
exit $bad
