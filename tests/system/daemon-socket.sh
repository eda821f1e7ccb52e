#!/bin/bash
# Who may post batches and what: root, the group, nobody else; nonsense, other
# slot lengths, the far future, duplicates.
. "$(dirname "$0")/daemon-lib.bash"
need_root "the daemon's socket"
configure 1s 1s
echo "group = games" >>"$dir/conf"
chmod 755 "$dir"
start_daemon d -s "$dir/store" -w "$dir/rec"
daemon=$last
expect "the socket's mode and group" "$(stat -c '%a %G' "$dir/sock")" "660 games"
await 60 [ -s "$dir/rec" ]

cat >"$dir/post.py" <<'END'
"""post.py SOCK FILE...: sends the files, prints the answers."""
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(60)
try:
    s.connect(sys.argv[1])
    for name in sys.argv[2:]:
        try:
            s.sendall(open(name, 'rb').read())
        except BrokenPipeError:
            pass  # it has closed, but not without a word
        print(s.recv(500).decode().strip())
except OSError as e:
    print('oserror', e)
END
cat >"$dir/make.py" <<'END'
"""make.py OUT SLOT_NS SLOT: a batch of one gauge."""
import os, struct, sys
sys.path.insert(0, 'tests/system')
import mlb
def varint(v):
    out = b''
    while v >= 128:
        out += bytes([v & 127 | 128]); v >>= 7
    return out + bytes([v])
zigzag = lambda v: varint(v << 1 if v >= 0 else (-v << 1) - 1)
section = lambda tag, b: varint(tag) + varint(len(b)) + b
slot_ns, slot = int(sys.argv[2]), int(sys.argv[3])
payload = bytes([1]) + os.urandom(16) + varint(slot_ns)
payload += section(1, varint(1) + varint(0) + varint(4) + b'test')
payload += b''.join(section(tag, varint(0)) for tag in (2, 3, 4))
payload += section(5, varint(1) + bytes([3]) + varint(1) + varint(0) + varint(0) + zigzag(0) + varint(0))
gauge = varint(1) + zigzag(7) + varint(0) + zigzag(7) + zigzag(7) + zigzag(0)
payload += section(6, varint(1) + varint(0) + zigzag(slot) + gauge)
payload += section(7, varint(0))
head = b'MLB1' + struct.pack('>II', len(payload), mlb.crc32c(payload))
open(sys.argv[1], 'wb').write(head + struct.pack('>I', mlb.crc32c(head)) + payload)
END
now=$(date +%s)
python3 "$dir/make.py" "$dir/good" 1000000000 "$now"
python3 "$dir/make.py" "$dir/good2" 1000000000 "$((now - 3600))"
python3 "$dir/make.py" "$dir/other" 10000000000 "$((now / 10))"
python3 "$dir/make.py" "$dir/future" 1000000000 "$((now + 100000))"
printf 'GET / HTTP/1.1\r\n\r\n' >"$dir/http"
chmod 644 "$dir"/{good,good2,other,future,http,post.py}

post() { python3 "$dir/post.py" "$dir/sock" "$@" 2>&1; }
expect "root: two batches, one late, on one connection" \
	"$(post "$dir/good" "$dir/good2" | tr '\n' ' ')" "ok ok "
expect "the same again is fine" "$(post "$dir/good")" ok
expect_text "another slot length" "$(post "$dir/other")" "^error 422 .*slots of"
expect_text "the far future" "$(post "$dir/future")" "^error 422 .*future"
expect_text "no batch" "$(post "$dir/http")" "^error 400 "

python=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || command -v python3)
as() { setpriv "$@" -- "$python" "$dir/post.py" "$dir/sock" "$dir/good"; }
expect_text "a member of the group" \
	"$(as --reuid=65534 --regid=65534 --groups="$(getent group games | cut -d: -f3)")" "^ok$"
chmod 666 "$dir/sock"
expect_text "a stranger, even if the mode lets him connect" \
	"$(as --reuid=65534 --regid=65534 --clear-groups)" "^error 403 "

kill -USR1 "$daemon"
await 60 said "$dir/d.log" "socket: "
expect_text "all of it is counted" "$(grep "socket: " "$dir/d.log")" \
	"4 batches taken, 3 refused, .* 1 turned away"
expect_text "and duplicates" "$(grep "store: [0-9]" "$dir/d.log")" "2 duplicates"
end "$daemon"
expect_text "what came in is recorded" "$(mlb "$dir/rec" | grep ' test{}')" "'last': 7"
