#!/bin/sh
# Every metric in A and in B, and named runs.
. tests/api/lib
END=1700000000
start
a='from=1699998600&until=1699998700'
b='from-b=1699998700&until-b=1699998750'
row='((n) => d.rows.find((r) => r.name === n))'
get GET "/api/v1/compare.json?$a&$b"
check "only what moved" js 'd.rows.length > 0 &&
    d.rows.every((r) => r.verdict !== "same") && d.counts.same > 0'
check "a gauge is its mean" js "$row"'("test_gauge_bytes").value.join() ===
    "1004.5,1002" && '"$row"'("test_gauge_bytes").fn === "mean" &&
    '"$row"'("test_gauge_bytes").difference === -2.5 &&
    near('"$row"'("test_gauge_bytes").ratio, 1002 / 1004.5) &&
    '"$row"'("test_gauge_bytes").better === null &&
    '"$row"'("test_gauge_bytes").verdict === "moved"'
check "ranges" js 'd.a.from === 1699998600 && d.b.until === 1699998750'
get GET "/api/v1/compare.json?$a&$b&show=all&requests=memlens_profile_samples_total"
check "a counter is a rate" js "$row"'("node_cpu_seconds_total").value.join() ===
    "0.25,0.25" && '"$row"'("node_cpu_seconds_total").unit === "ratio" &&
    '"$row"'("node_cpu_seconds_total").verdict === "same"'
check "and so much a request" js 'd.a.requests === 10000 &&
    d.b.requests === 5000 && near('"$row"'("node_cpu_seconds_total")
    .per_request[1], 0.0025) &&
    !("per_request" in '"$row"'("test_gauge_bytes"))'
for bad_one in two_bytes x_seconds_bucket x_seconds_sum; do
	get GET "/api/v1/compare.json?$a&$b&requests=$bad_one"
	check "$bad_one counts no requests" js 'd.field === "requests"'
done
get GET "/api/v1/compare.json?$a&$b&show=all&limit=5000"
check "a quantile is its largest, not a mean" js "$row"'("lag_seconds").fn ===
    "max" && '"$row"'("lag_seconds").value[0] === 9'
check "better is known by the name" js \
    "$row"'("memlens_profile_samples_lost_total").better === "down"'
get GET "/api/v1/compare.json?$a&from-b=1699999500&until-b=1699999600&show=all"
check "a gap is no data, not 0" js 'd.rows.length > 0 &&
    d.rows.every((r) => r.value[1] === null && r.difference === null &&
    r.verdict === "only in A") && d.counts["only in A"] === d.rows.length'
get GET "/api/v1/compare.json?$a&$b&query=test_gauge_bytes&limit=1"
check "a selector" js 'd.rows.length === 1 && d.a.series === 1'
get GET "/api/v1/compare.json?$a&$b&show=none"
check "what to show?" status 400
get GET "/api/v1/compare.json?$a&$b"
tag=$(sed -n 's/^ETag: //p' "$T/head")
get GET "/api/v1/compare.json?$a&$b" HTTP_IF_NONE_MATCH="$tag"
check "closed ranges are revalidated" status 304

get GET /api/v1/runs
check "the newest of each name, no broken and no removed ones" js \
    'd.runs.length === 1 && d.runs[0].name === "before" &&
    d.runs[0].label === "</script>" && d.runs[0].from === 1699998600'
check "what turns the text around is escaped" \
    grep -qF '"notes":"a\u202eb\u2028"' "$T/body"
get GET '/api/v1/runs?name=after'
check "by name" js 'd.runs.length === 0'
get PUT /api/v1/runs
check "methods" header 'Allow: GET, HEAD, POST'
post()
{
	printf '%s' "$1" >"$T/in"
	shift
	BODY=$T/in get POST /api/v1/runs CONTENT_LENGTH="$(wc -c <"$T/in")" "$@"
}
post '{"name":"x"}' HTTP_ORIGIN=http://evil HTTP_HOST=here
check "not from another site" status 403
post '{"name":"x"}'
check "no collector: not yet" status 503
for body in '' '[]' '{"name":' '"x"' "$(printf '{"name":"\377"}')"; do
	post "$body"
	check "415 for: $body" status 415
done
for body in '{}' '{"name":""}' '{"name":7}' '{"name":"x","from":"yesterday"}' \
    '{"name":"x","from":200,"until":100}' '{"name":"x","notes":{}}' \
    '{"name":"x","sysctls":[]}' '{"name":"x","sysctls":{"a":1}}' \
    '{"name":"x","rate_target":"fast"}' '{"name":"a\u0000b"}'; do
	post "$body"
	check "400 for: $body" status 400
done
exit $bad
