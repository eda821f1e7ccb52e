#!/bin/sh
# A against B.
. tests/api/lib
END=1700000000
start
q=$(enc 'cpu{service="kv"}')
a='from=1699998600&until=1699998700'
b='from-b=1699998700&until-b=1699998900'
row='((n) => d.rows.find((r) => r.name === n))'
get GET "/api/v1/diff.json?query=$q&$a&$b"
check "format double" js 'd.version === 1 && d.metadata.format === "double" &&
    d.leftTicks === 606060600 && d.rightTicks === 1212121200 &&
    d.flamebearer.numTicks === 1818181800 && d.metadata.sampleRate === 1e9 &&
    d.a.samples === 60 && d.b.samples === 120'
check "levels in sevens, exactly" js 'JSON.stringify(d.flamebearer.levels.map(
    (l) => l.map((v, i) => i % 7 === 6 ? v : v / 10101010))) ===
    "[[0,60,0,0,120,0,0],[0,60,0,0,120,0,1]," +
    "[0,10,0,0,20,0,2,0,30,30,0,60,60,4,0,20,20,0,40,40,5]," +
    "[0,10,10,0,20,20,3]]"'
check "by shares nothing moved" js 'd.normalise === "total" &&
    /^Shares/.test(d.words) && d.rows.length === 5 &&
    d.rows.every((r) => r.self_difference === 0 && r.total_ratio === 1)'
get GET "/api/v1/diff.json?query=$q&$a&$b&normalise=time"
check "per second neither" js 'd.a.seconds === 100 && d.b.seconds === 200 &&
    /^Per second/.test(d.words) && near('"$row"'("read").self_normalised[0],
    3030303) && d.rows.every((r) => near(r.self_difference, 0))'

# other services, and a filter of stacks
p=$(enc 'cpu{service="kv",pool="b"}')
get GET "/api/v1/diff.json?query=$q&$a&query-b=$p"
check "a filtered side" js 'd.leftTicks === 606060600 &&
    d.rightTicks === 303030300 &&
    '"$row"'("read").self.join() === "303030300,0" &&
    '"$row"'("read").self_samples.join() === "30,0" &&
    '"$row"'("main").total_samples.join() === "60,30" &&
    '"$row"'("read").self_difference === -0.5 &&
    '"$row"'("read").self_ratio === 0 &&
    '"$row"'("write").share.map((v) => v.toFixed(4)).join() ===
    "0.3333,0.6667"'
check "the largest difference first" js 'd.rows[0].name === "read" &&
    d.rows[1].name === "write"'
check "few is told" js "$row"'("read").few === true &&
    '"$row"'("read").samples === 30'
get GET "/api/v1/diff.json?query=$p&$a&query-b=$q&sort=total&limit=1"
check "what A lacks has no ratio" js 'd.rows.length === 1 &&
    d.functions === 5'
get GET "/api/v1/diff.json?query=$p&$a&query-b=$q"
check "a ratio to nothing is null" js "$row"'("read").self_ratio === null &&
    '"$row"'("read").self_difference === 0.5'
get GET "/api/v1/diff.json?query=$q&$a&$b&sort=total"
check "a hundred samples are enough" js "$row"'("main").few === false &&
    '"$row"'("main").samples === 180'

# per request: the gauge has no increase, the counter 2.5 a slot
m=$(enc 'node_cpu_seconds_total{mode="user"}')
get GET "/api/v1/diff.json?query=$q&$a&$b&normalise=requests&requests=$m"
check "per request" js 'd.a.divided_by === 25 && d.b.divided_by === 50 &&
    /^Per request: 25 requests in A, 50 requests in B/.test(d.words) &&
    near('"$row"'("read").self_normalised[1], 12121212)'
get GET "/api/v1/diff.json?query=$q&$a&$b&normalise=requests"
check "which requests?" js 'd.field === "requests"'
get GET "/api/v1/diff.json?query=$q&$a&$b&normalise=requests&requests=nothing"
check "requests that nobody counts: 404" status 404
check "by name" js 'd.field === "requests" && /nothing/.test(d.detail)'
late='from-b=1500000000&until-b=1500000100'
get GET "/api/v1/diff.json?query=$q&$a&$late&normalise=requests&requests=$m"
check "no data of requests: nothing is claimed" js 'd.b.divided_by === null &&
    d.words === "Per request: 25 requests in A, no data of requests in B." &&
    d.rows.every((r) => r.self_difference === null && r.self_ratio === null)'
get GET "/api/v1/compare.json?$a&$late&requests=$m"
check "nor in a comparison of metrics" js 'd.a.requests === 25 &&
    d.b.requests === null'
get GET "/api/v1/compare.json?$a&$b&requests=nothing"
check "where it is a 404, too" status 404

get GET "/api/v1/diff.json?query=$q&$a&$b&focus=read"
check "a focus keeps shares of the whole" js 'd.rows.length === 2 &&
    d.rows[1].share.join() === "0.5,0.5" &&
    d.flamebearer.levels[0].join() === "0,303030300,0,0,606060600,0,0" &&
    d.leftTicks === 606060600'
get GET "/api/v1/diff.json?query=$q&$a&$b&reverse=1&sort=self"
check "from the leaves the table stays" js '
    d.flamebearer.levels[1].length === 21 &&
    '"$row"'("read").self.join() === "303030300,606060600" &&
    '"$row"'("main").self.join() === "0,0"'
get GET "/api/v1/diff.json?query=$q&$a&focus=("
check "a bad expression" js 'd.field === "focus"'

# A at 10 ms a sample, B at 10 ms and at 20 ms
get GET "/api/v1/diff.json?query=wall&from=1699998800&until=1699998900&from-b=1699998900&until-b=1699999100"
check "mixed periods: samples are counted, few are few" js '
    d.a.period === 10000000 && d.b.period === null &&
    d.rightTicks === 1200000000 && d.rows[0].samples === 120 &&
    d.rows[0].few === false && d.rows[0].self_samples.join() === "40,80" &&
    JSON.stringify(d.sample_levels) === "[[40,0,80,0],[40,40,80,80]]"'
get GET "/api/v1/diff.json?query=wall&from=1699998880&until=1699998900&from-b=1699998980&until-b=1699999020"
check "and where they are few" js 'd.rows[0].few === true &&
    d.rows[0].samples === 24 && d.rows[0].total[1] > 100'
get GET "/api/v1/diff.json?query=$q&$a&from-b=1699999500&until-b=1699999600"
check "a gap is no data" js 'd.b.state === "no data" && d.a.state === "data" &&
    d.rows.every((r) => r.self_difference === null)'
get GET "/api/v1/diff.json?query=$q&$a&max-nodes=2"
check "cut, and nothing lost" js 'd.flamebearer.names.includes("(other)") &&
    d.flamebearer.levels.flat().length % 7 === 0 && d.rows.length === 5'
get GET "/api/v1/diff.json?query=$q&$a&from-b=1699998700&until-b=1699998700"
check "an empty range" js 'd.field === "from-b"'
get GET "/api/v1/diff.json?query=$q&$a&query-b=%7B"
check "a bad selector of B" js 'd.field === "query-b"'
get GET "/api/v1/diff.json?query=$q&$a&query-b=$(enc 'cpu{service="nobody"}')"
check "a service that never was" status 404
get GET "/api/v1/diff.json?query=$q&$a&$b"
tag=$(sed -n 's/^ETag: //p' "$T/head")
get GET "/api/v1/diff.json?query=$q&$a&$b" HTTP_IF_NONE_MATCH="$tag"
check "closed ranges are revalidated" status 304
exit $bad
