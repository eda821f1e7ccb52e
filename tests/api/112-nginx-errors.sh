#!/bin/bash
# What nginx refuses before a worker sees it is said as our workers say it.
. tests/api/lib
. tests/api/stack
. tests/live/port.sh
free_port PORT
start_stack
start_nginx

# said STATUS CODE curl arguments...: the status, and one JSON object with the
# members of our errors and of Connect's
said()
{
	want=$1 code=$2
	shift 2
	got=$(curl -s -g --max-time 60 -o "$T/body" -D "$T/head" \
	    -w '%{http_code} %{content_type}' "$@")
	[ "$got" = "$want application/json" ] || { echo "# $got"; return 1; }
	js "typeof d.error === 'string' && 'field' in d && d.detail.length > 5 &&
	    d.code === '$code' && d.message === d.detail"
}
raw()
{
	exec 3<>"/dev/tcp/127.0.0.1/$PORT"
	printf "$1" >&3
	timeout 60 cat <&3 >"$T/answer"
	exec 3>&-
	sed '/^\r$/,$d' "$T/answer" | tr -d '\r' >"$T/head"
	sed '1,/^\r$/d' "$T/answer" >"$T/body"
	grep -q "^HTTP/1.1 $2 " "$T/head" && js 'd.code === "'"$3"'"'
}

head -c $((2 << 20)) /dev/zero >"$T/2m"
truncate -s $((65 << 20)) "$T/65m"
connect='Content-Type: application/proto'
check "a body over 1 MiB: 413" said 413 resource_exhausted \
    --data-binary @"$T/2m" "$base/api/v1/runs"
check "a push over 64 MiB" said 413 resource_exhausted -H 'Expect:' \
    --data-binary @"$T/65m" "$base/ingest?name=a"
check "one by Connect" said 413 resource_exhausted -H 'Expect:' \
    -H "$connect" --data-binary @"$T/65m" \
    "$base/push.v1.PusherService/Push"
check "a question by Connect" said 413 resource_exhausted -H "$connect" \
    --data-binary @"$T/2m" "$base/querier.v1.QuerierService/Series"
long=$(head -c 20000 /dev/zero | tr '\0' a)
check "a long address: 414" said 414 invalid_argument \
    "$base/api/v1/flamegraph.json?query=$long"
check "a long header: 431" said 431 resource_exhausted -H "X-Long: $long" \
    "$base/api/v1/health"
check "a transfer encoding that nobody knows: 501" said 501 unimplemented \
    -H 'Transfer-Encoding: nope' -d x "$base/ingest?name=a"
check "no HTTP: 400" raw 'nonsense\r\n\r\n' 400 invalid_argument
check "a host that is none: 400" \
    raw 'GET /api/v1/health HTTP/1.1\r\nHost: a b\r\n\r\n' 400 \
    invalid_argument
check "a version that is none: 505" \
    raw 'GET /api/v1/health HTTP/2.0\r\n\r\n' 505 unimplemented
mkdir "$web/www/js"
echo 'let x;' >"$web/www/js/x.js"
echo '<p>here' >"$web/www/index.html"
check "a file below a folder" [ "$(curl -s "$base/js/x.js")" = 'let x;' ]
check "the first page" [ "$(curl -s "$base/")" = '<p>here' ]
for path in /js /js/ /api /api/v1/kv /pyroscope/nope //api/v1/services /metrics/ \
    /render/ /querier.v1.QuerierService /nope.html; do
	check "nothing at $path: 404" said 404 not_found --path-as-is \
	    "$base$path"
done
curl -s -o "$T/body" "$base/api/v1/nope"
check "our own errors are as they were" \
    js 'd.error === "not found" && !("code" in d)'
check "the pages of errors are nobody's to ask" test "$(curl -s -o /dev/null \
    -w '%{http_code}' "$base/.memlens-error/413")" = 404

kill $worker
wait $worker
worker=
check "no worker: 503" said 503 unavailable "$base/api/v1/health"
check "with Retry-After" header 'Retry-After: 5'
check "to a push" said 503 unavailable -d 'a 1' "$base/ingest?name=a"
check "to a push of more than other bodies may have" said 503 unavailable \
    -H 'Expect:' --data-binary @"$T/2m" "$base/ingest?name=a"
check "to Connect" said 503 unavailable -H "$connect" -d '' \
    "$base/querier.v1.QuerierService/Series"
check "to the playground" said 503 unavailable "$base/api/v1/kv/a"
exit $bad
