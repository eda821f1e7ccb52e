#!/bin/bash
# Who sends half a request and then nothing makes room for others after some
# seconds, and nothing of it is stored.
. tests/api/lib
. tests/api/stack
. tests/live/port.sh
free_port PORT
start_stack -j 1
start_nginx
half() # HEAD of a request, and nothing behind it: seconds until it is cut
{
	python3 - "$PORT" "$1" <<-'END'
	import socket, sys, time
	s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
	s.sendall(sys.argv[2].encode().decode('unicode_escape').encode())
	s.settimeout(40)
	began = time.time()
	while s.recv(65536):
	    pass
	print(round(time.time() - began))
	END
}
ending='HTTP/1.1\r\nHost: localhost\r\n'
half "POST /ingest?name=half $ending"'Content-Length: 1000\r\n\r\na;b' \
	>"$T/body-cut" &
cut=$!
half "GET /api/v1/types $ending" >"$T/head-cut"
wait $cut
cut() # after 15 s, at most 25
{
	[ "$(cat "$T/$1-cut")" -ge 14 ] && [ "$(cat "$T/$1-cut")" -le 25 ]
}
check "half a body is cut after 15 s" cut body
check "half a head, too" cut head
exit $bad
