#!/bin/sh
# A socket on descriptor 0, as systemd gives it, even a non-blocking one.
. tests/api/lib
fill
cat >"$T/give.mjs" <<'END'
import net from 'node:net';
import { spawn } from 'node:child_process';
const [program, socket, ...args] = process.argv.slice(2);
const server = net.createServer().listen(socket, () => {
  const child = spawn(program, args, { stdio: [server._handle.fd, 1, 2] });
  process.on('SIGTERM', () => child.kill());
  child.on('exit', (status) => process.exit(status));
});
server.on('connection', () => {});
END
node "$T/give.mjs" "$B/memlens-fcgi" "$T/sock" -s "$T/store" -p all -j 1 \
    2>"$T/log" &
worker=$!
started()
{
	crew=$(pgrep -P $worker memlens-fcgi) &&
	    [ -n "$(cat /proc/"$crew"/task/"$crew"/children)" ]
}
await 60 started
trap 'kill -CONT $worker; finish' EXIT # who stands still does not end
kill -STOP $worker # so that node does not accept
get GET /api/v1/health
check "descriptor 0" status 200
get GET /api/v1/services
check "again" status 200
kill -CONT $worker
exit $bad
