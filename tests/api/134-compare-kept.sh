#!/bin/sh
# Comparing where retention has left whole spans: their borders, not nothing.
. tests/api/lib
END=1700000000 SLOTS=10000 FINE=1000
start
# 100 slots long past, in the span of 4,096 slots from 1699921920 on
a='from=1699930000&until=1699931000'
b='from-b=1699999000&until-b=1699999900'
gauge='((n) => d.rows.find((r) => r.name === n))("test_gauge_bytes")'
get GET "/api/v1/compare.json?$a&$b&show=all"
check "both sides have data" js "d.counts['only in B'] === 0 &&
    d.rows.length > 0 && d.rows.every((r) => r.value[0] !== null)"
check "the range is that of the kept span" js 'd.a.from === 1699921920 &&
    d.a.until === 1699921920 + 40960 && d.b.from === 1699999000 &&
    d.b.until === 1699999900'
compared=$(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1]))
    .rows.find((r) => r.name === "test_gauge_bytes").value[0]' "$T/body")
get GET "/api/v1/series?query=test_gauge_bytes&from=1699921920&until=1699962880&step=40960s"
check "as a series says it" js "near(d.series[0].points[0].mean ??
    d.series[0].points[0][1], $compared)"
get GET "/api/v1/compare.json?$a&$b&show=all&requests=memlens_profile_samples_total"
check "requests are those of the same span" js "d.a.requests === 3686000 &&
    near($gauge.value[0], $compared)"
exit $bad
