#!/bin/bash
# Connect's push: protobuf and JSON, packed or not, and its errors.
. tests/api/lib
. tests/api/stack
start_stack
node tests/api/requests.mjs "$T" || exit 1
uri=/push.v1.PusherService/Push
q='cpu{service="pushed"}'

has()
{
	got=$(counted "$1" 1699990000 1700100000)
	[ "$got" = "$2" ] || { echo "# $1: $got, not $2"; return 1; }
}
if command -v protoc >/dev/null; then
	# the bytes that we send are what protoc reads
	protoc --decode=connect.PushRequest -Ifcgi/format connect.proto \
	    <"$T/push.bin" >"$T/body"
	check "protoc reads the request" grep -q 'value: "pushed"' "$T/body"
	check "and knows all of its fields" \
	    sh -c "! grep -qE '^ *[0-9]+[:{ ]' '$T/body'"
	protoc --encode=connect.PushRequest -Ifcgi/format connect.proto \
	    <"$T/body" >"$T/again"
	check "and writes the same bytes" cmp "$T/push.bin" "$T/again"
	protoc --decode=pprof.Profile -Ifcgi/format pprof.proto \
	    <"$T/pprof.bin" >"$T/body"
	check "and its profile" grep -q 'period: 10000000' "$T/body"
else
	echo "skip - protoc: not installed"
fi
put "$T/push.bin" $uri CONTENT_TYPE=application/proto
check "protobuf: 200" status 200
check "protobuf: the same type back" header "Content-Type: application/proto"
check "protobuf: an empty message" [ ! -s "$T/body" ]
check "protobuf: it is there" has "$q" 5
check "a label of the series wins" has 'cpu{service="pushed",region="us"}' 5
check "ids of single requests are not: each would be a label set" has \
    'cpu{service="pushed",profile_id="17"}' 0
check "odd labels are kept" has \
    'cpu{service="pushed","odd-label name"="x/y"}' 5
check "the profile's own time" [ "$(counted "$q" 1700000000 1700000020)" = 5 ]
check "the type beside it" has 'samples{service="pushed"}' 5
put "$T/push.gz" $uri CONTENT_TYPE=application/proto \
    HTTP_CONTENT_ENCODING=gzip
check "packed" has "$q" 10
put "$T/push.json" $uri CONTENT_TYPE=application/json
check "JSON: 200 {}" js 'Object.keys(d).length === 0'
check "JSON: it is there" has "$q" 15
put "$T/push.json" $uri "CONTENT_TYPE=application/json; charset=utf-8"
check "JSON with a charset" has "$q" 20

put "$T/a.folded" $uri CONTENT_TYPE=application/proto
check "no message: 400" status 400
check "as Connect says it" js 'd.code === "invalid_argument" && d.message'
put "$T/a.folded" $uri CONTENT_TYPE=application/json
check "no JSON: 400" js 'd.code === "invalid_argument"'
put "$T/push.bin" $uri CONTENT_TYPE=text/plain
check "another type: 415" status 415
printf '{"series":[{"samples":[{"rawProfile":"####"}]}]}' >"$T/bad.json"
put "$T/bad.json" $uri CONTENT_TYPE=application/json
check "no base64: 400" js '/base64/.test(d.message)'
printf '{"series":[{"samples":[{"rawProfile":"AAAA"}]}]}' >"$T/bad.json"
put "$T/bad.json" $uri CONTENT_TYPE=application/json
check "no profile: 400" js 'd.code === "invalid_argument"'
kill $daemon
wait $daemon
put "$T/push.bin" $uri CONTENT_TYPE=application/proto
check "no daemon: unavailable" js 'd.code === "unavailable"'
exit $bad
