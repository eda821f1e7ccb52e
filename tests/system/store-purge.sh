#!/bin/bash
# A purge while memlensd runs: only root may ask, the data is gone from the
# answers and from the files, the rest and what is measured meanwhile stay.
. "$(dirname "$0")/daemon-lib.bash"
need_root "a purge beside memlensd"
configure 100ms 100ms
echo "group = games" >>"$dir/conf"
chmod 755 "$dir"
start_daemon d -s "$dir/store"
daemon=$last

series() { # how many of the daemon's files hold a name
	"$BUILD/memlens" export "$dir/store" now-1h now "$dir/out.$1" "$2" \
		2>/dev/null
	python3 tests/system/mlb.py "$dir/out.$1" 2>/dev/null | wc -l
	rm -f "$dir/out.$1"
}
has() { [ "$(series h "$1")" -gt 0 ]; }
files() { "$BUILD/memlens" stat "$dir/store" | awk '$1 == "files" { print $2 }'; }
sealed() { [ "$(files)" -gt 0 ]; }

await 120 has node_load1 || not_ok "load is measured" "$(cat "$dir/d.log")"
await 120 sealed || not_ok "a journal is sealed"
expect_true "there is something to purge" has 'node_load5'

answer=$("$BUILD/memlens" purge "$dir/store" node_load5 now-1h now 2>&1)
expect_text "the directory is the daemon's; the tool says what to do" \
	"$answer" "socket instead"

as_games=(setpriv --reuid=nobody --regid=games --clear-groups --)
install -m 755 "$BUILD/memlens" "$dir/memlens"
answer=$("${as_games[@]}" "$dir/memlens" purge "$dir/sock" node_load5 \
	now-1h now 2>&1)
expect_text "whoever may post may not purge" "$answer" "only root"
expect_true "and nothing is gone" has node_load5

until=$(date +%s)
newer() { # slots come in order: all up to then are there
	rm -f "$dir/newer"
	"$BUILD/memlens" export "$dir/store" "$((until + 1))" now "$dir/newer" \
		node_load5 2>/dev/null
	[ "$(python3 tests/system/mlb.py "$dir/newer" 2>/dev/null | wc -l)" -gt 0 ]
}
await 120 newer || not_ok "slots go on"
before=$(series b node_load1)
answer=$("$BUILD/memlens" purge "$dir/sock" node_load5 "$((until - 3600))" \
	"$until" 2>&1)
status=$?
expect "root may purge" "$status" 0
expect_text "and is told what was done" "$answer" "files, [0-9]* bytes given back"
left=$("$BUILD/memlens" export "$dir/store" "$((until - 3600))" "$until" \
	"$dir/left" node_load5 2>/dev/null; python3 tests/system/mlb.py "$dir/left" | wc -l)
expect "what was named is gone" "$left" 0
expect_true "another series is all there" [ "$(series a node_load1)" -ge "$before" ]
expect_true "the daemon measures on" await 120 has node_load5
expect_true "the daemon lives" kill -0 "$daemon"

answer=$("$BUILD/memlens" purge "$dir/sock" '{service=~"("}' now-1h now 2>&1)
expect_text "a selector that is none is refused" "$answer" "memlens purge: "

# What is no purge, though it begins like one.
python3 - "$dir/sock" >"$dir/rude" <<'END'
import socket, struct, sys
sys.path.insert(0, 'tests/system')
import mlb
def ask(data):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(sys.argv[1])
    s.sendall(data)
    print(s.recv(500).decode().strip())
def record(payload, n=None, crc=None):
    head = b'MLP1' + struct.pack('>II', len(payload) if n is None else n,
        mlb.crc32c(payload) if crc is None else crc)
    return head + struct.pack('>I', mlb.crc32c(head)) + payload
ask(b'MLP1' + b'x' * 12)
ask(record(b'', n=100000))
ask(record(b'\x00\x00up', crc=1))
ask(record(b'\x00\x00u\x00p'))
ask(record(b'\xff' * 30))
END
expect "damaged requests are refused" "$(cut -d' ' -f1,2 "$dir/rude" | tr '\n' ';')" \
	"error 400;error 413;error 400;error 400;error 400;"
expect_true "and the daemon takes the next one" \
	"$BUILD/memlens" purge "$dir/sock" no_such_name now-1h now
end "$daemon"
expect "the daemon ends well" "$status" 0
expect_text "the store is clean" "$("$BUILD/memlens" verify "$dir/store")" clean
