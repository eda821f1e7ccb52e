#!/bin/bash
# memlens-scrape against a real LevelDB service with the quirks of the real
# one, against one that never answers and one that talks nonsense; and while
# the daemon is away.
. "$(dirname "$0")/daemon-lib.bash"
[ -x "$BUILD/kvservice" ] || { echo "skip - no kvservice"; exit 77; }
. tests/live/port.sh
free_port port
free_port stats
free_port silent
free_port odd
configure 500ms 500ms
cat >"$dir/scrape.conf" <<END
[scrape]
socket = $dir/sock
slot = 500ms
interval = 200ms
deadline = 500ms
[target kv]
instance = one
leveldb = http://127.0.0.1:$stats/transaction_data
prometheus = http://127.0.0.1:$stats/metrics
[target hang]
service = silent
instance = one
leveldb = http://127.0.0.1:$silent/transaction_data
[target odd]
instance = one
leveldb = http://127.0.0.1:$odd/
prometheus = http://127.0.0.1:$odd/
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
begin "$dir/silent.log" python3 "$dir/silent.py" $silent - "$dir/silent.times"
begin "$dir/odd.log" python3 "$dir/silent.py" $odd \
	'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nwhat is 1\r\n0\r\n\r\n' "$dir/odd.times"
begin "$dir/kv.log" "$BUILD/kvservice" --port $port --stats-port $stats --db "$dir/db" --nan --respawn
kv=$last
await 120 curl -sf "http://127.0.0.1:$stats/transaction_data" -o "$dir/warm"
start_daemon one -s "$dir/store" -w "$dir/rec"
daemon=$last
begin "$dir/scrape.log" "$BUILD/memlens-scrape" -f "$dir/scrape.conf"
scrape=$last
began=$(date +%s)
no_right() { grep -q "^CapEff:.0*$" "/proc/$scrape/status"; }
expect_true "it keeps no right" await 60 no_right

# Values are those of the page.
big=$(head -c 3000 /dev/zero | tr '\0' v)
for i in $(seq 300); do
	echo "{\"id\":\"k$i\",\"value\":\"$big\"}" >"$dir/put.$i"
	[ "$i" = 1 ] || echo next
	echo "url = \"http://127.0.0.1:$port/v1/transactions/commit\""
	echo "data = \"@$dir/put.$i\""
	echo 'output = "/dev/null"'
done >"$dir/puts"
curl -s -K "$dir/puts"
# look: what was stored of late; value: the last of a series in that
# (what the daemon itself records is much, and not looked at; names are cut
# where they begin like the one before)
scraped() { mlb "$dir/rec" blocks "$1" veldb 2>/dev/null; }
look() { scraped 400 >"$dir/now"; }
value() { grep " $1 " "$dir/now" | tail -n 1 | sed "s/.*'last': \([0-9]*\).*/\1/"; }
page() { python3 -c "import json,sys; print(int(json.load(open('$dir/page'))['$1']))"; }
# LevelDB may still be at work: until what is stored is what the page says.
same() {
	look
	curl -s "http://127.0.0.1:$stats/transaction_data" >"$dir/page"
	[ "$(value 'leveldb_approximate_memory_bytes{instance="one",service="kv"}')" = \
		"$(page level_db_approx_mem_size)" ] &&
		[ "$(value 'leveldb_block_writes_total{instance="one",service="kv"}')" = \
		"$(page num_writes)" ] &&
		[ "$(value 'leveldb_max_resident_memory_bytes{instance="one",service="kv"}')" = \
		"$(($(page max_resident_set_size) * 1024))" ] &&
		[ "$(value 'leveldb_up{instance="one",service="kv"}')" = 1 ]
}
await 240 same
expect "leveldb_approximate_memory_bytes" \
	"$(value 'leveldb_approximate_memory_bytes{instance="one",service="kv"}')" "$(page level_db_approx_mem_size)"
expect "leveldb_block_writes_total" \
	"$(value 'leveldb_block_writes_total{instance="one",service="kv"}')" "$(page num_writes)"
expect "leveldb_max_resident_memory_bytes is in bytes" \
	"$(value 'leveldb_max_resident_memory_bytes{instance="one",service="kv"}')" \
	"$(($(page max_resident_set_size) * 1024))"
expect "leveldb_up" "$(value 'leveldb_up{instance="one",service="kv"}')" 1
expect_text "the page's own metrics" "$(cat "$dir/now")" \
	'counter kv_operations_total{instance="one",op="set",service="kv"}'
expect_true "NaN is no data" [ -z "$(grep 'latencies{quantile' "$dir/now")" ]

# Those that do not answer do not disturb, and are not besieged.
all_tried() {
	look
	[ -n "$(value 'leveldb_up{instance="one",service="silent"}')" ] &&
		[ -n "$(value 'leveldb_up{instance="one",service="odd"}')" ] &&
		said "$dir/scrape.log" 'hang: leveldb: no answer in time'
}
await 120 all_tried
expect "one that never answers is down" "$(value 'leveldb_up{instance="one",service="silent"}')" 0
expect "one that talks nonsense is down" "$(value 'leveldb_up{instance="one",service="odd"}')" 0
expect_text "the log says why, once" "$(grep -c 'hang: leveldb: no answer in time' "$dir/scrape.log")" "^1$"
requests=$(wc -l <"$dir/silent.times")
now=$(date +%s)
expect_true "no storm: $requests requests in $((now - began)) s" \
	[ "$requests" -le $((now - began + 2)) ]

# A crash: down, then a new pid, counters from 0, never a negative increase.
child=$(pgrep -P "$kv")
kill -9 "$child"
await 120 curl -sf "http://127.0.0.1:$stats/transaction_data" -o "$dir/warm"
crashed=$(($(date +%s) * 2 + 2))
is_up() {
	look
	[ "$(grep ' leveldb_up{instance="one",service="kv"} ' "$dir/now" |
		tail -n 1 | cut -d' ' -f1)" -gt $crashed ] &&
		[ "$(value 'leveldb_up{instance="one",service="kv"}')" = 1 ]
}
expect_true "after a crash it is up again" await 120 is_up

# The daemon is away for 5 s; what was pulled meanwhile comes later.
end "$daemon"
away=$(($(date +%s) * 2 + 2))
sleep 5
back=$(($(date +%s) * 2))
start_daemon two -s "$dir/store" -w "$dir/rec"
daemon=$last
await 240 said "$dir/scrape.log" "memlensd takes batches again"
restarted=$(($(date +%s) * 2))
caught_up() { [ "$(scraped 100 | grep scrape_queued_batches |
	tail -n 1 | cut -d' ' -f1)" -gt $restarted ]; }
await 240 caught_up
end "$scrape"
expect "SIGTERM: status" "$status" 0
end "$daemon"
# Not each: a busy machine's scraper may come too late for some.
pulled=$(scraped 99999 | awk -v from=$away -v until=$back '
	$3 == "memlens_scrape_queued_batches{}" && $1 >= from && $1 < until' | wc -l)
expect_true "slots of the time without a daemon are not lost: $pulled" [ "$pulled" -gt 0 ]
expect_text "the log tells of it" "$(cat "$dir/scrape.log")" "memlensd takes batches again"
kill "$(pgrep -P "$kv")" 2>/dev/null
end "$kv"
