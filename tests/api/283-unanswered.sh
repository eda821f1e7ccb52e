#!/bin/bash
# A push that memlensd has stored, but whose answer is lost: the 503 says the
# key with which a retry counts once.
. tests/api/lib
. tests/api/stack
start_daemon
cat >"$T/proxy.cjs" <<'END'
// What comes goes on; an answer ends the connection while FILE is there.
const net = require('net'), fs = require('fs');
const [own, to, file] = process.argv.slice(2);
net.createServer((c) => {
  const d = net.connect(to);
  c.pipe(d);
  d.on('data', (b) => { if (fs.existsSync(file)) c.destroy(); else c.write(b); });
  for (const [a, b] of [[c, d], [d, c]]) {
    a.on('error', () => {});
    a.on('close', () => b.destroy());
  }
}).listen(own);
END
node "$T/proxy.cjs" "$T/proxy.sock" "$T/memlensd.sock" "$T/lose" &
target=$!
wait_until test -S "$T/proxy.sock"
printf '[collector]\nsocket = %s\n' "$T/proxy.sock" >"$T/fcgi.conf"
run_worker -c "$T/fcgi.conf"
printf 'main;work 7\n' >"$T/push"
at=1700000000
window="name=app&from=$at&until=$((at + 10))&format=folded&units=samples"
total() { [ "$(counted 'cpu{service="app"}' $at $((at + 10)))" = "$1" ]; }
touch "$T/lose"
put "$T/push" "/ingest?$window"
check "what is not answered is a 503" status 503
check "which says how a retry counts once" js '/Idempotency-Key [0-9a-f]{32}\b/.test(d.detail)'
key=$(grep -o 'Idempotency-Key [0-9a-f]*' "$T/body" | cut -d ' ' -f 2)
check "it was stored" await 30 total 7
rm "$T/lose"
put "$T/push" "/ingest?$window" HTTP_IDEMPOTENCY_KEY="$key"
check "the retry is taken" status 200
put "$T/push" "/ingest?$window"
check "and another push" status 200
check "the retry counts once, the other too" await 30 total 14
exit $bad
