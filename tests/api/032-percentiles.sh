#!/bin/sh
# Latency percentiles over time.  The store ends at a fixed time; each slot
# has 1 ms to 1 s, each millisecond once.
. tests/api/lib
END=1700000000
start
range='from=1699999400&until=1699999700'
get GET "/api/v1/percentiles?query=test_latency_seconds&$range"
check "what it covers" js 'd.from === 1699999400 && d.until === 1699999700 &&
    d.step === 10 && d.series.length === 1 &&
    d.series[0].name === "test_latency_seconds" &&
    d.series[0].unit === "seconds" && d.series[0].labels.service === "kv"'
check "the columns" js 'd.columns.join() ===
    "time,p50,p90,p95,p99,p99.9,max,mean,count"'
check "each within 1 %, the largest, the mean and the count exact" js '
    d.series[0].points.slice(0, 10).every((row) => [0.5, 0.9, 0.95, 0.99, 0.999].every(
        (v, i) => Math.abs(row[i + 1] - v) <= v / 100) &&
        row[6] === 1 && row[7] === 0.5005 && row[8] === 1000)'
check "a closed range has a tag" header 'ETag: "'

get GET "/api/v1/percentiles?query=test_latency_seconds&$range&step=1m"
check "a step is merged, not averaged" js 'd.series[0].points.length === 5 &&
    d.series[0].points[0][8] === 6000 &&
    Math.abs(d.series[0].points[0][5] - 0.999) < 0.00999'
# slots 169999950 to 169999959 are missing
get GET '/api/v1/percentiles?query=test_latency_seconds&from=1699999500&until=1699999600'
check "no data is null, and the count 0" js 'd.series.length === 0 ||
    d.series[0].points.every((p) => p[1] === null && p[8] === 0)'
get GET "/api/v1/percentiles?query=test_gauge_bytes&$range"
check "a gauge has no percentiles" js 'd.series.length === 0'
get GET "/api/v1/percentiles?$range"
check "a query is needed" status 400
get GET "/api/v1/percentiles?query=test_latency_seconds&$range&step=x"
check "a step that is none" status 400
get GET '/api/v1/percentiles?query=test_latency_seconds&from=0&until=1700000000&step=10s'
check "too many points" status 413
