#!/bin/sh
# The latency test of SET, against a service that says yes at once and commits
# a round later.
. tests/api/lib
fill
crow() # ALLOW-PUT TIMEOUT [VAR=x...]
{
	allow=$1 timeout=$2
	shift 2
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
	timeout = $timeout
	END
	run_worker -p playground -c "$T/conf"
}
latency()
{
	printf '%s' "$1" >"$T/in"
	shift
	BODY=$T/in get POST /api/v1/actions/latency-test \
	    CONTENT_LENGTH="$(wc -c <"$T/in")" HTTP_HOST=localhost "$@"
}
crow no 60s
latency '{"confirmed":true}'
check "not where writing is off" status 403
crow yes 60s DELAY=30
latency '{"confirmed":true}' HTTP_ORIGIN=http://evil
check "not from another site" status 403
get GET /api/v1/actions/latency-test
check "a GET starts nothing" status 405
latency '{}'
check "not unless somebody confirms" js 'd.field === "confirmed"'
latency '{"confirmed":"false"}'
check "a word is no confirmation" js 'd.field === "confirmed"'
latency '[]'
check "no object" status 415
for m in '"samples":199' '"samples":10001' '"rate":501' '"rate":"fast"' '"samples":200.5' '"committed":"no"' \
    '"samples":10000,"rate":1'; do
	latency "{\"confirmed\":true,$m}"
	check "400 for $m" status 400
done
latency '{"confirmed":true,"samples":200}'
L='const l = d.run.latency, a = l.accepted, c = l.committed'
fact() { js "(() => { $L; return $1; })()"; }
check "in sequence: all are sent, accepted and read back" fact \
    'l.sent === 200 && a.count === 200 && c.count === 200 &&
    l.stopped === null && l.unread === 0'
check "committed is a round more than accepted" fact \
    'c.p50 >= 0.03 && a.p50 < c.p50 && a.p99 <= a.max && c.p99 <= c.max'
check "buckets are of all, and at most a hundredth wide" fact \
    '[a, c].every((h) => h.buckets.reduce((n, b) => n + b[2], 0) === 200 &&
    h.buckets.every(([x, y]) => (y - x) / x < 0.01))'
check "keys under the reserved prefix" fact \
    '/^memlens-p99-\d+-$/.test(l.keys)'
check "nobody keeps it here, and that is said" js \
    'd.kept === false && /collector/.test(d.why)'
latency '{"confirmed":true,"samples":200,"rate":100}'
check "at a rate: no more a second than asked for" fact \
    'd.run.rate_target === 100 && d.run.rate_reached > 5 &&
    d.run.rate_reached < 101 && a.count === 200 &&
    d.run.until - d.run.from > 1.9'
check "reads are one at a time, so some writes are not read" fact \
    'c.count > 0 && c.count < 200'
latency '{"confirmed":true,"samples":200,"committed":false}'
check "accepted alone" fact 'a.count === 200 && c === null'
# No coordinated omission: the target stops for a second in the middle of
# writes at 100 a second; each that was due meanwhile waited.
crow yes 60s
(sleep 1.5; kill -STOP $target; sleep 1; kill -CONT $target) &
latency '{"confirmed":true,"samples":300,"rate":100,"committed":false}'
check "what was due while the target stood still has waited" fact \
    'a.count === 300 && a.max > 0.9 && a.buckets.reduce((n, b) =>
    n + (b[0] > 0.1 ? b[2] : 0), 0) >= 80'
crow yes 1s HANG_AFTER=20 DELAY=1
latency '{"confirmed":true}'
check "the first that is not answered in time ends it, and is told" fact \
    '/a read: .*in time/.test(l.stopped) && l.sent === 20 &&
    c.count === 19'
kill $target
wait $target
target=
latency '{"confirmed":true}'
check "nobody there" fact '/a write/.test(l.stopped) && a.count === 0 &&
    a.p99 === null'
check "what nobody has answered has no rate" js \
    '!("rate_reached" in d.run)'
# What waits at the end for a read is no slower writing.
crow yes 8s LOSE=memlens-p99
latency '{"confirmed":true,"samples":200,"rate":100}'
check "of writes that are lost none is committed, and the note says so" js \
    'd.run.rate_reached > 45 && d.run.latency.committed.count === 0 &&
    d.run.latency.unread > 0 && /, \d+ not there after 5 s$/.test(d.run.notes)'
# One at a time, and keys are asked for meanwhile.
crow yes 8s HANG=memlens-p99
printf '{"confirmed":true}' >"$T/first"
REQUEST_METHOD=POST REQUEST_URI=/api/v1/actions/latency-test HTTP_HOST=localhost \
    CONTENT_LENGTH=18 cgi-fcgi -bind -connect "$T/sock" <"$T/first" \
    >"$T/first.answer" &
first=$!
refused()
{
	latency '{"confirmed":true,"samples":201}'
	status 409
}
check "another test is refused" await 6 refused
check "and why" js '/one at a time/.test(d.detail)'
get GET /api/v1/kv/none
check "the terminal does not wait for the test" status 404
check "which goes on" [ ! -s "$T/first.answer" ]
wait $first
sed '1,/^\r$/d' "$T/first.answer" >"$T/body"
check "and ends as it would" fact '/a read/.test(l.stopped) && l.sent === 1'
exit $bad
