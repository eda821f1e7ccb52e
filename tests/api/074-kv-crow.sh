#!/bin/sh
# The playground against ResilientDB's own service, which decodes no key and
# says yes before it has stored anything.
. tests/api/lib
crow() # ALLOW-PUT [VAR=x...]
{
	allow=$1
	shift
	[ -z "$target" ] || { kill $target; wait $target; }
	[ -z "$worker" ] || { kill $worker; wait $worker; }
	: >"$T/ready"
	env "$@" node tests/api/crow.mjs >"$T/ready" &
	target=$!
	await 60 test -s "$T/ready"
	cat >"$T/conf" <<-END
	[kv]
	target = 127.0.0.1:$(cat "$T/ready")
	allow-put = $allow
	timeout = ${TIMEOUT:-60}s
	END
	run_worker -p playground -c "$T/conf"
}
put()
{
	key=$1
	printf '%s' "$2" >"$T/value"
	shift 2
	BODY="$T/value" get PUT "/api/v1/kv/$key" CONTENT_LENGTH=$(wc -c \
	    <"$T/value") HTTP_HOST=localhost "$@"
}
crow yes DELAY=100
put hello world
check "accepted, no more" js 'd.state === "accepted" &&
    !("stored_seconds" in d)'
put hello two
get GET /api/v1/kv/hello
check "what was accepted is stored a round later" js 'd.value === "two"'
put 'hello?read-back=1' three
check "read back on request" js 'd.state === "stored" &&
    d.stored_seconds >= 0.1 && d.latency_seconds < d.stored_seconds'
for odd in '\177' '\357\273\277' '\342\200\250'; do
	put 'odd?read-back=1' "$(printf "a${odd}b")"
	check "a value with $odd is found again" js 'd.state === "stored"'
done
put 'a:%2541%22' 'x'
check "a key that needs encoding, as the target reads it" \
    js 'd.key === "a:%41\"" && d.value === "x"'
get GET '/api/v1/kv/a:%2541%22'
check "is found again" js 'd.value === "x"'
for k in 'a%20b' 'a%2Fb' 'a%3Fb' 'a%23b'; do
	put "$k" x
	check "$k is refused" status 422
	check "by its name" js 'd.field === "key" &&
	    d.detail.includes(decodeURIComponent("'$k'"))'
	get GET "/api/v1/kv/$k"
	check "and so is the question" status 422
done
for k in . .. %2E%2e; do
	put $k x
	check "$k is a step in a path" status 422
	check "and refused by name" js 'd.field === "key" &&
	    /^"\.\.?" cannot be in a path/.test(d.detail)'
	get GET /api/v1/kv/$k
	check "nor is it asked for" status 422
done
for k in memlens-check:%2541 memlens-check:%C3%A9 memlens-p99-1-0; do
	put $k x
	check "$k is not for others to write" status 422
	check "by name" js '/is MemLens.s: .*memlens-/.test(d.detail)'
done
put 'a%09b' x
check "a tab is told from a ?" js 'd.detail.startsWith("\"a\\x09b\" ")'
put 'a%E2%80%AE%EF%BB%BF%20b' x
check "and what turns text" js \
    'd.detail.startsWith("\"a\\u202e\\ufeff b\" ")'
put 'k?read-back=2' x
check "read back how often?" status 400
put 'caf%C3%A9' x
check "what it does not read is refused" status 422
get GET '/api/v1/kv/caf%C3%A9'
check "and why" js '/café.*round trip has shown/.test(d.detail)'
crow yes DELAY=20 LOSE=lost
put 'lost?read-back=1' x
check "what is dropped without a word is not called stored" js \
    'd.state === "accepted" && d.stored_seconds === null &&
    /5 seconds there is no such key/.test(d.read_back)'
crow yes DELAY=1 CHANGE="$(printf '\342\200\250')"
put 'odd?read-back=1' "$(printf 'ab\342\200\250c')"
check "what is kept in another way is told by place and code" js \
    'd.state === "accepted" && d.stored_seconds === null &&
    /value: its character 3 is U\+0063, sent was U\+2028/.test(d.read_back)'
crow no DELAY=1
get GET '/api/v1/kv/caf%C3%A9'
check "without the right to write nothing is written" status 404
TIMEOUT=1
crow yes HANG=never
put 'never?read-back=1' x
check "no answer to the reading back is told" js 'd.state === "accepted" &&
    /in time/.test(d.read_back)'
exit $bad
