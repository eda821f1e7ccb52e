#!/bin/bash
# What the daemon cannot take now is 429 or 507 for whoever pushes, never a
# 200, and the store hears of it afterwards.
. tests/api/lib
. tests/api/stack
STORE_LINES='reserve = 100TiB' start_stack
node tests/api/requests.mjs "$T" || exit 1
at="from=1700000000&until=1700000010"
ingest="/ingest?name=app.cpu&$at"

wait_until test -e "$T/store/manifest"
put "$T/a.folded" "$ingest"
check "a full disk: 507" status 507
check "and when to come again" header "Retry-After:"
put "$T/push.bin" /push.v1.PusherService/Push CONTENT_TYPE=application/proto
check "Connect: 507" status 507
check "as a code" js 'd.code === "resource_exhausted"'
kill $daemon
wait $daemon
STORE_LINES= start_daemon
put "$T/a.folded" "$ingest"
check "with room again: 200" status 200

# as many connections as the daemon takes, before a worker that has none yet
kill $worker
wait $worker
rm -f "$T/sock"
run_worker -c "$T/fcgi.conf"
python3 - "$T" <<'END' &
import socket, sys, time
all = []
for i in range(120):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1] + "/memlensd.sock")
    all.append(s)
open(sys.argv[1] + "/held", "w")
time.sleep(600)
END
holder=$!
wait_until test -e "$T/held"
put "$T/a.folded" "$ingest"
check "too many at once: 429" status 429
check "429: and when to come again" header "Retry-After:"
kill $holder
wait $holder 2>/dev/null
for i in $(seq 100); do
	put "$T/a.folded" "$ingest"
	status 200 && break
	sleep 0.1
done
check "when they have gone: 200" status 200
n=$(counted 'cpu{service="app"}' 1700000000 1700000010)
check "what was refused has not come in ($n)" [ "$n" = 10 ]
check "refusals are counted with their reason" \
    await 60 refused 1 '^(disk full|overload)'
exit $bad
