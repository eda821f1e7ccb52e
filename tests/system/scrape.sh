#!/bin/bash
# memlens-scrape against a real LevelDB service with the quirks of the real
# one, against one that never answers and one that talks nonsense; and while
# the daemon is away.
. "$(dirname "$0")/daemon-lib.bash"
[ -x "$BUILD/kvservice" ] || { echo "skip - no kvservice"; exit 77; }
port=18940 stats=18941
configure 500ms 500ms
cat >"$dir/scrape.conf" <<END
[scrape]
socket = $dir/sock
slot = 500ms
interval = 200ms
deadline = 500ms
[target kv]
leveldb = http://127.0.0.1:$stats/transaction_data
prometheus = http://127.0.0.1:$stats/metrics
[target hang]
service = silent
leveldb = http://127.0.0.1:18942/transaction_data
[target odd]
leveldb = http://127.0.0.1:18943/
prometheus = http://127.0.0.1:18943/
END
cat >"$dir/silent.py" <<'END'
"""silent.py PORT ANSWER LOG: answers every request so, or never ("-")."""
import socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('127.0.0.1', int(sys.argv[1])))
s.listen(50)
held = []
while True:
    c, _ = s.accept()
    print(time.time(), file=open(sys.argv[3], 'a'))
    if sys.argv[2] == '-':
        held.append(c)
    else:
        c.recv(1000)
        c.sendall(sys.argv[2].encode().decode('unicode_escape').encode())
        c.close()
END
begin "$dir/silent.log" python3 "$dir/silent.py" 18942 - "$dir/silent.times"
begin "$dir/odd.log" python3 "$dir/silent.py" 18943 \
	'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nwhat is 1\r\n0\r\n\r\n' "$dir/odd.times"
begin "$dir/kv.log" "$BUILD/kvservice" --port $port --stats-port $stats --db "$dir/db" --nan --respawn
kv=$last
await 10 curl -sf "http://127.0.0.1:$stats/transaction_data" -o "$dir/warm"
start_daemon one -s "$dir/store" -w "$dir/rec"
daemon=$last
begin "$dir/scrape.log" "$BUILD/memlens-scrape" -f "$dir/scrape.conf"
scrape=$last
began=$(date +%s)
expect_text "it keeps no right" "$(sleep 0.5; cat /proc/"$scrape"/status)" "^CapEff:.0*$"

# Values are those of the page.
for i in $(seq 300); do
	curl -s -X POST -d "{\"id\":\"k$i\",\"value\":\"$(head -c 3000 /dev/zero | tr '\0' v)\"}" \
		"http://127.0.0.1:$port/v1/transactions/commit" -o /dev/null
done
sleep 0.6
curl -s "http://127.0.0.1:$stats/transaction_data" >"$dir/page"
sleep 1.6
value() { mlb "$dir/rec" | grep " $1 " | tail -n 1 | sed "s/.*'last': \([0-9]*\).*/\1/"; }
page() { python3 -c "import json,sys; print(int(json.load(open('$dir/page'))['$1']))"; }
expect "leveldb_approximate_memory_bytes" \
	"$(value 'leveldb_approximate_memory_bytes{service="kv"}')" "$(page level_db_approx_mem_size)"
expect "leveldb_block_writes_total" \
	"$(value 'leveldb_block_writes_total{service="kv"}')" "$(page num_writes)"
expect "leveldb_max_resident_memory_bytes is in bytes" \
	"$(value 'leveldb_max_resident_memory_bytes{service="kv"}')" \
	"$(($(page max_resident_set_size) * 1024))"
expect "leveldb_up" "$(value 'leveldb_up{service="kv"}')" 1
expect_text "the page's own metrics" "$(mlb "$dir/rec")" \
	'counter kv_operations_total{op="set",service="kv"}'
expect_true "NaN is no data" [ -z "$(mlb "$dir/rec" | grep 'latencies{quantile')" ]

# Those that do not answer do not disturb, and are not besieged.
expect "one that never answers is down" "$(value 'leveldb_up{service="silent"}')" 0
expect "one that talks nonsense is down" "$(value 'leveldb_up{service="odd"}')" 0
expect_text "the log says why, once" "$(grep -c 'hang: leveldb: no answer in time' "$dir/scrape.log")" "^1$"
now=$(date +%s)
expect_true "no storm: $(wc -l <"$dir/silent.times") requests in $((now - began)) s" \
	[ "$(wc -l <"$dir/silent.times")" -le $((now - began + 2)) ]

# A crash: down, then a new pid, counters from 0, never a negative increase.
child=$(pgrep -P "$kv")
kill -9 "$child"
await 5 curl -sf "http://127.0.0.1:$stats/transaction_data" -o "$dir/warm"
sleep 2
expect "after a crash it is up again" "$(value 'leveldb_up{service="kv"}')" 1

# The daemon is away for 3 s; what was pulled meanwhile comes later.
end "$daemon"
sleep 3
start_daemon two -s "$dir/store" -w "$dir/rec"
daemon=$last
sleep 2.5
end "$scrape"
expect "SIGTERM: status" "$status" 0
sleep 0.3
end "$daemon"
gaps() {
	mlb "$dir/rec" | awk '$3 == "memlens_scrape_queued_batches{}" { print $1 }' | sort -un |
		awk 'NR > 1 && $1 != last + 1 { gap++ } { last = $1 } END { print gap + 0 }'
}
expect "no slot of the time without a daemon is lost" "$(gaps)" 0
expect_text "the log tells of it" "$(cat "$dir/scrape.log")" "memlensd takes batches again"
kill "$(pgrep -P "$kv")" 2>/dev/null
end "$kv"
