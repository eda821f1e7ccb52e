#!/bin/sh
# The playground against a real LevelDB service that answers like
# ResilientDB: late, and to some keys never.
. tests/api/lib
[ -x "$B/kvservice" ] || {
	echo "skip - kvservice: not built"
	exit 77
}
"$B/kvservice" --port 0 --stats-port 0 --db "$T/db" --slow-get 100 \
    --hang-get never --ready-file "$T/ready" >"$T/kvlog" 2>&1 &
target=$!
await 60 test -s "$T/ready"
read pid port stats <"$T/ready"
cat >"$T/conf" <<-END
	[kv]
	target = 127.0.0.1:$port
	allow-put = yes
	END
run_worker -p playground -c "$T/conf"
put()
{
	printf '%s' "$2" >"$T/value"
	BODY="$T/value" get PUT "/api/v1/kv/$1" CONTENT_LENGTH=$(wc -c \
	    <"$T/value")
}
put 'a%2Fb%2F%2F%C3%A9' 'value "1"'
check "put" js 'd.value === "value \"1\"" && d.latency_seconds < 2'
get GET '/api/v1/kv/a%2Fb%2F%2F%C3%A9'
check "get" js 'd.key === "a/b//\u00e9" && d.value === "value \"1\"" &&
    d.latency_seconds > 0.03 && d.latency_seconds < 2'
get GET /api/v1/kv/missing
check "a missing key" status 404
get GET /api/v1/kv/never-comes
check "a hanging key" status 504
get GET '/api/v1/kv/a%2Fb%2F%2F%C3%A9'
check "and the next one comes" status 200
kill $target
wait $target
target=
get GET /api/v1/kv/a
check "a dead service" status 502
exit $bad
