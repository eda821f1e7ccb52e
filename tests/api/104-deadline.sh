#!/bin/sh
# A request that takes too long ends its worker, not the service.
. tests/api/lib
run_target
cat >"$T/conf" <<-END
	[worker]
	deadline = 2s
	[kv]
	target = 127.0.0.1:$PORT
	timeout = 60s
	END
run_worker -j 1 -c "$T/conf"
get GET /api/v1/kv/bad-hang
check "no answer, rather than a short one" [ ! -s "$T/head" ]
check "the log says why" grep -q 'took too long' "$T/log"
# A machine that is busy may need more than the deadline for that, too.
answered()
{
	get GET /api/v1/kv/packets
	status 200
}
check "the next request is answered" await 60 answered
exit $bad
