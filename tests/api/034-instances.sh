#!/bin/sh
# Instances of one service are neither added nor averaged unless asked, and
# then exactly; quantiles never are.
. tests/api/lib
END=1700000000
start
range='from=1699999400&until=1699999480'
get GET "/api/v1/series?query=two_bytes&$range"
check "each instance by itself" js 'd.series.length === 2 &&
    d.series[0].labels.instance === "a" && d.series[1].labels.instance ===
    "b" && d.series.every((s) => s.added === undefined)'
get GET "/api/v1/series?query=two_bytes&$range&sum=instance"
check "a sum of means, and of how many" js 'd.series.length === 1 &&
    JSON.stringify(d.series[0].labels) === "{\"service\":\"kv\"}" &&
    d.series[0].added === 2 &&
    d.series[0].points.map((p) => p[1]).join() ===
    "101.5,101.5,101.5,100.5,101.5,101.5,101.5,100.5" &&
    d.series[0].parts.join() === "2,2,2,1,2,2,2,1"'
get GET "/api/v1/series?query=two_bytes&$range&sum=instance,service&fn=last"
check "over several labels" js 'd.series.length === 1 &&
    d.series[0].labels.service === undefined &&
    d.series[0].points[0][1] === 102'
get GET "/api/v1/series?query=two_ops_total&$range&sum=instance&fn=increase&step=40"
check "increases" js 'd.series[0].points.map((p) => p[1]).join() === "55,55"'
get GET "/api/v1/series?query=two_ops_total&$range&sum=instance&step=40"
check "rates, each over its own seconds" js \
    'd.series[0].points.map((p) => p[1]).join() === "1.5,1.5"'
get GET "/api/v1/series?query=two_bytes&$range&sum=other"
check "a label that no series has" js 'd.series.length === 2 &&
    d.series[0].added === 1'
get GET "/api/v1/series?query=two_bytes&$range&sum=instance&fn=max"
check "a sum of maxima is none" js 'd.field === "sum" && d.error'
get GET "/api/v1/series?query=two_bytes&$range&sum=,"
check "no name of a label" js 'd.field === "sum" && d.error'

get GET "/api/v1/series?query=lag_seconds&$range&step=80"
check "a quantile is its largest" js 'd.series[0].fn === "max" &&
    d.series[0].points[0][1] === 7'
get GET "/api/v1/series?query=lag_seconds&$range&fn=mean"
check "and never a mean" js 'd.field === "fn" && d.error'
get GET "/api/v1/series?query=lag_seconds&$range&fn=last&sum=service"
check "nor a sum" js 'd.field === "sum" && d.error'
exit $bad
