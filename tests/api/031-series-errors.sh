#!/bin/sh
# What series refuses, and the field that it names.
. tests/api/lib
start
refused()
{
	get GET "/api/v1/series?$2"
	check "$1" js "d.field === '$4' && d.error && d.detail"
	check "$1: status" status "$3"
}
refused "no query" "" 400 query
refused "a malformed selector" "query=a%7Bb" 400 query
check "the byte is named" js '/byte 3/.test(d.detail)'
refused "from after until" "query=a&from=now&until=now-1h" 400 from
refused "no time" "query=a&from=yesterday" 400 from
refused "no time either" "query=a&until=soon" 400 until
refused "no step" "query=a&step=x" 400 step
refused "a step of nothing" "query=a&step=0" 400 step
refused "an unknown function" "query=a&fn=median" 400 fn
refused "a counter has no mean" "query=node_cpu_seconds_total&fn=mean" 400 fn
refused "a gauge has no rate" "query=test_gauge_bytes&fn=rate" 400 fn
refused "too many points" "query=a&from=1&step=10s" 413 step
refused "a parameter twice" "query=a&query=b" 400 query
refused "malformed encoding" "query=%zz" 400 query
refused "a NUL" "query=a%00" 400 query
exit $bad
