#!/bin/sh
# A request that takes too long ends its worker, not the service.
. tests/api/lib
PORT=${PORT:-18802}
cat >"$T/conf" <<-END
	[worker]
	deadline = 500ms
	[kv]
	target = 127.0.0.1:$PORT
	timeout = 60s
	END
node tests/api/target.mjs $PORT >"$T/ready" &
target=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	[ -s "$T/ready" ] && break
	sleep 0.1
done
run_worker -j 1 -c "$T/conf"
get GET /api/v1/kv/bad-hang
check "no answer, rather than a short one" [ ! -s "$T/head" ]
check "the log says why" grep -q 'took too long' "$T/log"
get GET /api/v1/kv/packets
check "the next request is answered" status 200
exit $bad
