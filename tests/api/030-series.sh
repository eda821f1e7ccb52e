#!/bin/sh
# Metrics over time.  The store ends at a fixed time, so that values are.
. tests/api/lib
END=1700000000
start
range='from=1699999400&until=1699999700'
get GET "/api/v1/series?query=test_gauge_bytes&$range"
check "a gauge's mean, slot by slot" js 'd.from === 1699999400 &&
    d.until === 1699999700 && d.step === 10 &&
    d.series[0].unit === "bytes" && d.series[0].points.length === 30 &&
    d.series[0].points[0][0] === 1699999400 &&
    d.series[0].points[0][1] === 1000 && d.series[0].points[3][1] === 1003'
check "labels" js 'JSON.stringify(d.series[0].labels) === "{\"service\":\"kv\"}"'
check "a closed range has a tag" header 'ETag: "'

get GET "/api/v1/series?query=test_gauge_bytes&$range&step=25"
check "a step goes up to whole slots" js 'd.step === 30 &&
    d.series[0].points.length === 10 && d.series[0].points[0][1] === 1001'

get GET '/api/v1/series?query=test_gauge_bytes&from=1699999409&until=1699999419'
check "edges go down to whole slots" js 'd.from === 1699999400 &&
    d.until === 1699999410 && d.series[0].points.length === 1'

get GET "/api/v1/series?query=test_gauge_bytes&$range&step=1m&fn=max"
check "max" js 'd.series[0].points[0][1] === 1005'
get GET "/api/v1/series?query=test_gauge_bytes&$range&step=1m&fn=min"
check "min" js 'd.series[0].points[0][1] === 1000'
get GET "/api/v1/series?query=test_gauge_bytes&$range&step=1m&fn=last"
check "last" js 'd.series[0].points[1][1] === 1009'

get GET "/api/v1/series?query=test_gauge_bytes&$range&step=1m&fn=count"
check "how often a gauge was measured" js 'd.series[0].fn === "count" &&
    d.series[0].unit === "" &&
    d.series[0].points.map(([, v]) => v).join() === "6,4,,4,6"'

get GET "/api/v1/series?query=node_cpu_seconds_total&$range&step=1m"
check "a counter's rate" js 'd.series[0].fn === "rate" &&
    d.series[0].unit === "ratio" &&
    d.series[0].points.map(([, v]) => v).join() === "0.25,0.25,,0.25,0.25"'
get GET "/api/v1/series?query=node_cpu_seconds_total&$range&step=1m&fn=increase"
check "a counter's increase" js 'd.series[0].unit === "seconds" &&
    d.series[0].points.map(([, v]) => v).join() === "15,10,,10,15"'

# slots 169999950 to 169999959 are missing
get GET '/api/v1/series?query=test_gauge_bytes&from=1699999480&until=1699999620'
check "no data is null" js 'd.series[0].points.slice(2, 12).every(([, v]) =>
    v === null) && d.series[0].points[1][1] === 1009 &&
    d.series[0].points[12][1] === 1000'
get GET '/api/v1/series?query=node_cpu_seconds_total&from=1699999480&until=1699999620&step=40'
check "a rate is over the time that has data" \
    js 'd.series[0].points[0][1] === 0.25 && d.series[0].points[1][1] === null'

q=$(enc '{__name__=~"test_.*|node_cpu.*",mode!="idle"}')
get GET "/api/v1/series?query=$q&$range"
check "several series" js 'd.series.length === 2'
get GET "/api/v1/series?query=no_such_metric&$range"
check "no series" js 'd.series.length === 0'
exit $bad
