#!/bin/sh
# What happened in a range: what the store says, and somebody's own words.
. tests/api/lib
END=1700000000
start
r='from=1699998000&until=1700000000'
get GET "/api/v1/marks?$r"
check "by time, text and service apart" js 'd.marks.length > 3 &&
    d.left_out === 0 && d.marks.every((m, i) => i === 0 ||
    m.time >= d.marks[i - 1].time) && d.marks.some((m) =>
    m.what === "exit" && m.text === "7 q" && m.service === "quiet") &&
    d.marks.some((m) => m.what === "rate" && m.service === null)'
check "what is no text is not listed" js \
    'd.marks.every((m) => m.what !== "odd")'
get GET "/api/v1/marks?$r&what=note,rate"
check "of these kinds" js 'd.marks.length > 0 &&
    d.marks.every((m) => m.what === "rate")'
get GET "/api/v1/marks?$r&what=rat"
check "a kind is a whole word" js 'd.marks.length === 0'
get GET "/api/v1/marks?$r&service=kv"
check "of a service, and of none" js 'd.marks.length > 0 &&
    d.marks.every((m) => m.what === "rate")'
get GET "/api/v1/marks?$r&limit=1"
check "the newest" js 'd.marks.length === 1 && d.left_out > 0'
get GET "/api/v1/marks?$r&limit=0"
check "how many?" js 'd.field === "limit"'
get GET "/api/v1/marks?from=1690000000&until=1690000100"
check "a range without marks" js 'd.marks.length === 0'
get PUT /api/v1/marks
check "methods" header 'Allow: GET, HEAD, POST'
post()
{
	printf '%s' "$1" >"$T/in"
	shift
	BODY=$T/in get POST /api/v1/marks CONTENT_LENGTH="$(wc -c <"$T/in")" "$@"
}
post '{"text":"x"}' HTTP_ORIGIN=http://evil HTTP_HOST=here
check "not from another site" status 403
post '{"text":"x"}'
check "no collector: not yet" status 503
for body in '' '[]' '{"text":' "$(printf '{"text":"\377"}')"; do
	post "$body"
	check "415 for: $body" status 415
done
for body in '{}' '{"text":7}' '{"text":"a\tb"}' '{"text":"a\u0000b"}' \
    '{"text":"x","what":"exit"}' '{"text":"x","service":[]}' \
    '{"text":"x","time":"soon"}' '{"text":"x","time":1}' '{"text":"x","time":99999999999}'; do
	post "$body"
	check "400 for: $body" status 400
done
exit $bad
