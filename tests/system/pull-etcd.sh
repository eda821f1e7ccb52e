#!/bin/bash
# A real etcd: memlens-scrape pulls its heap, and go tool pprof says the same
# of etcd's own answer and of our export.
. "$(dirname "$0")/daemon-lib.bash"
. tests/live/port.sh
command -v etcd >/dev/null && command -v go >/dev/null ||
	{ echo "skip - etcd's heap: no etcd or no Go"; exit 77; }
free_port port
free_port peers
configure 500ms 500ms
begin "$dir/etcd.log" etcd --enable-pprof --data-dir "$dir/etcd" --unsafe-no-fsync \
	--listen-client-urls "http://127.0.0.1:$port" --advertise-client-urls "http://127.0.0.1:$port" \
	--listen-peer-urls "http://127.0.0.1:$peers" --initial-advertise-peer-urls "http://127.0.0.1:$peers" \
	--initial-cluster "default=http://127.0.0.1:$peers"
heap=http://127.0.0.1:$port/debug/pprof/heap
if ! await 60 curl -sf -o "$dir/first" "$heap"; then
	if grep -q 'unsupported\|flag provided but not defined' "$dir/etcd.log"; then
		echo "skip - etcd's heap: $(tail -n 1 "$dir/etcd.log")"
		exit 77
	fi
	not_ok "etcd starts" "$(tail "$dir/etcd.log")"
	exit 1
fi
# Keys of 20 KB, and then a collection: until the next one its heap's profile
# is the same.
python3 - "$port" <<'END'
import base64, http.client, json, sys
c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
for i in range(1000):
    c.request("POST", "/v3/kv/put", json.dumps({
        "key": base64.b64encode(b"key %d" % i).decode(),
        "value": base64.b64encode(b"v" * 20000).decode()}))
    r = c.getresponse()
    r.read()
    assert r.status == 200, r.status
END
expect "etcd takes keys" $? 0
curl -sf -o "$dir/collected" "$heap?gc=1"

start_daemon one -s "$dir/store"
begin "$dir/fcgi.log" "$BUILD/memlens-fcgi" -s "$dir/store" -l "$dir/fcgi" -p all
cat >"$dir/scrape.conf" <<END
[scrape]
socket = $dir/sock
slot = 500ms
profile-interval = 500ms
[target etcd]
profile = $heap
END
begin "$dir/scrape.log" "$BUILD/memlens-scrape" -f "$dir/scrape.conf"

# top FILE TYPE : go tool pprof's rows: own and cumulative, function
top() {
	go tool pprof -top -nodecount=5000 -nodefraction=0 -unit=B -sample_index="$2" "$1" 2>/dev/null |
		sed '1,/flat%/d' | awk '{ print $1, $4, $6 }' | sort
}
# Of the last seconds: all of its slots are the same heap, unless it was
# collected meanwhile.
same() { # TYPE
	curl -sf -o "$dir/source" "$heap"
	top "$dir/source" "$1" >"$dir/theirs"
	REQUEST_METHOD=GET REQUEST_URI=/api/v1/flamegraph.pprof \
		QUERY_STRING="query=$1%7Bservice=%22etcd%22%7D&from=now-4s" \
		cgi-fcgi -bind -connect "$dir/fcgi" 2>/dev/null | sed '1,/^\r*$/d' >"$dir/export"
	top "$dir/export" "$1" >"$dir/ours"
	[ -s "$dir/theirs" ] && cmp -s "$dir/ours" "$dir/theirs"
}
for type in inuse_space inuse_objects; do
	if await "${HOLD:-60}" same $type; then ok "etcd's $type: $(wc -l <"$dir/theirs") rows are the same"
	else not_ok "etcd's $type" "$(diff "$dir/theirs" "$dir/ours" | head -n 12)"; fi
done
expect_true "its store is among them" grep -q 'etcd.*mvcc\|bbolt\|raft' "$dir/theirs"
expect "the scraper has no complaint" "$(grep -v ' targets, to ' "$dir/scrape.log")" ""
