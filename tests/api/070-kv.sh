#!/bin/sh
# The playground against a target with good and bad days.
. tests/api/lib
configure() # PORT [SECONDS]
{
	cat >"$T/conf" <<-END
	[kv]
	target = 127.0.0.1:$1
	allow-put = yes
	timeout = ${2:-2}s
	END
}
configure 1 # where nobody listens
run_worker -p playground -c "$T/conf"
get GET /api/v1/kv/a
check "no connection is a 502" status 502
kill $worker
wait $worker
run_target
# Good days take what a busy machine makes them take.
configure $PORT 60
run_worker -p playground -c "$T/conf"

put()
{
	key=$1
	printf '%s' "$2" >"$T/value"
	shift 2
	BODY="$T/value" get PUT "/api/v1/kv/$key" CONTENT_LENGTH=$(wc -c \
	    <"$T/value") HTTP_HOST=localhost "$@"
}
began=$(date +%s%N)
put hello world
took=$((($(date +%s%N) - began) / 1000000 + 1))
check "put, in $took ms at most" js 'd.key === "hello" && d.value === "world" &&
    d.latency_seconds > 0 && d.latency_seconds * 1000 < '$took
get GET /api/v1/kv/hello
check "get" js 'd.key === "hello" && d.value === "world" &&
    d.latency_seconds > 0'
get GET /api/v1/kv/missing
check "an empty 200 is a 404" status 404
check "that names the key" js 'd.field === "key"'

put 'a%2Fb%2F%2Fc%20d%3F' 'quoted "text" \ and
lines'
get GET '/api/v1/kv/a%2Fb%2F%2Fc%20d%3F'
check "slashes live" js 'd.key === "a/b//c d?" &&
    d.value === "quoted \"text\" \\ and\nlines"'
get GET '/api/v1/kv/a/b//c%20d%3F'
check "raw slashes are the same key" js 'd.key === "a/b//c d?"'
get GET '/api/v1/kv/raw?x=y'
check "the query is not of the key" js 'd.value === "/v1/transactions/raw"'
put empty ''
get GET /api/v1/kv/empty
check "an empty value is a value" js 'd.value === ""'
put '%C3%A9' '%'
get GET '/api/v1/kv/%C3%A9'
check "UTF-8" js 'd.key === "\u00e9" && d.value === "%"'

for k in text 500 novalue close large; do
	get GET "/api/v1/kv/bad-$k"
	check "$k is a 502" status 502
done
get GET /api/v1/kv/bad-chunked
check "chunks" js 'd.value === "in parts"'
get GET /api/v1/kv/bad-number
check "a value is what it is" js 'd.value === 5'
put bad-refuse x
check "a refused put is a 502" status 502

get GET /api/v1/kv/
check "no key is a 400" status 400
get GET /api/v1/kv/a%00b
check "a NUL is a 400" status 400
get GET /api/v1/kv/%ff
check "not UTF-8 is a 400" status 400
get GET /api/v1/kv/%zz
check "malformed encoding is a 400" status 400
get GET "/api/v1/kv/$(printf '%01100d' 0)"
check "a long key is a 414" status 414
printf '\377' >"$T/value"
BODY="$T/value" get PUT /api/v1/kv/x CONTENT_LENGTH=1
check "a value that is no text is a 415" status 415
BODY=/dev/null get PUT /api/v1/kv/x CONTENT_LENGTH=2000000
check "a large value is a 413" status 413

for h in HTTP_ORIGIN=http://evil HTTP_ORIGIN=null \
    HTTP_SEC_FETCH_SITE=cross-site HTTP_SEC_FETCH_SITE=same-site; do
	put x y $h
	check "$h may not write" status 403
done
put x y HTTP_ORIGIN=http://localhost HTTP_SEC_FETCH_SITE=same-origin
check "our own pages may" status 200
get DELETE /api/v1/kv/x
check "DELETE is a 405" status 405
check "that tells what is allowed" header 'Allow: GET, HEAD, PUT'

kill $worker
wait $worker
configure $PORT # and two seconds, as where nothing is said
sed -i '/^timeout/d' "$T/conf"
run_worker -p playground -c "$T/conf"
began=$(date +%s%N)
get GET /api/v1/kv/bad-hang
check "no answer is a 504" status 504
took=$((($(date +%s%N) - began) / 1000000))
check "after two seconds ($took ms)" [ $took -ge 1990 -a $took -lt 30000 ]
get GET /api/v1/kv/bad-slow
check "half an answer is a 504" status 504
exit $bad
