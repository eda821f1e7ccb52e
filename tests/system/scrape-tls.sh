#!/bin/bash
# memlens-scrape asks over HTTPS, whose certificates it checks, and over a unix
# socket.
. "$(dirname "$0")/daemon-lib.bash"
command -v openssl >/dev/null || { echo "skip - no openssl"; exit 77; }
. tests/live/port.sh
free_port good
free_port wrong
configure 500ms 500ms
# NAME ALTERNATIVE: a certificate of its own
certificate() {
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" \
		-addext "subjectAltName = $2" -keyout "$dir/$1.key" \
		-out "$dir/$1.pem" 2>>"$dir/openssl.log"
}
certificate good IP:127.0.0.1
certificate other DNS:other.example
cat "$dir/good.pem" "$dir/other.pem" >"$dir/ca.pem"
cat >"$dir/server.py" <<'END'
"""server.py PORT-OR-PATH [NAME]: a page, over TLS with NAME's certificate."""
import http.server, os, socket, socketserver, ssl, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'things 7\n'
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def address_string(self):
        return 'peer'
if sys.argv[1].startswith('/'):
    class Server(socketserver.ThreadingUnixStreamServer):
        daemon_threads = True
    s = Server(sys.argv[1], Page)
else:
    s = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Page)
if len(sys.argv) > 2:
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    c.load_cert_chain(sys.argv[2] + '.pem', sys.argv[2] + '.key')
    s.socket = c.wrap_socket(s.socket, server_side=True)
s.serve_forever()
END
begin "$dir/good.log" python3 "$dir/server.py" $good "$dir/good"
begin "$dir/wrong.log" python3 "$dir/server.py" $wrong "$dir/other"
begin "$dir/unix.log" python3 "$dir/server.py" "$dir/page.sock"
cat >"$dir/scrape.conf" <<END
[scrape]
socket = $dir/sock
slot = 500ms
interval = 200ms
deadline = 20s
ca = $dir/ca.pem
[target good]
prometheus = https://127.0.0.1:$good/metrics
[target wrong]
prometheus = https://127.0.0.1:$wrong/metrics
[target here]
prometheus = unix:$dir/page.sock:/metrics
END
sed '/^ca/d' "$dir/scrape.conf" >"$dir/untrusted.conf"
start_daemon one -s "$dir/store" -w "$dir/rec"
daemon=$last
begin "$dir/scrape.log" "$BUILD/memlens-scrape" -f "$dir/scrape.conf"
scrape=$last
has() { mlb "$dir/rec" blocks 400 things 2>/dev/null | grep -q "things{instance=\"$1\""; }
expect_true "a page over HTTPS" await 120 has "127.0.0.1:$good"
expect_true "a page on a unix socket" await 120 has "$dir/page.sock"
expect_true "a certificate of another name is refused, and named" \
	await 120 said "$dir/scrape.log" "wrong: prometheus: .*certificate.*127.0.0.1"
expect_true "nothing is taken of it" eval '! has 127.0.0.1:$wrong'
end "$scrape"
expect "SIGTERM: status" "$status" 0
begin "$dir/untrusted.log" "$BUILD/memlens-scrape" -f "$dir/untrusted.conf"
scrape=$last
expect_true "one that nobody trusts, too" \
	await 120 said "$dir/untrusted.log" "good: prometheus: .*certificate"
end "$scrape"
end "$daemon"
