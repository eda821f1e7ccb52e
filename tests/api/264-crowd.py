#!/usr/bin/env python3
# 264-crowd.py PORT N FILE: N clients ask at once, each on a connection of its
# own; writes to FILE how many have an answer by then whenever that changes,
# and prints at the end how many got which: "STATUS RETRY-AFTER COUNT" lines,
# "dropped" for one whose connection broke without an answer.
import collections
import os
import selectors
import socket
import sys

port, n, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
ask = b"GET /api/v1/services HTTP/1.1\r\nHost: localhost\r\n" \
    b"Connection: close\r\n\r\n"
poll = selectors.DefaultSelector()
texts = {}
for _ in range(n):
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(ask)
    s.setblocking(False)
    texts[s] = b""
    poll.register(s, selectors.EVENT_READ)
seen = collections.Counter()
while poll.get_map():
    for key, _ in poll.select():
        s = key.fileobj
        try:
            part = s.recv(65536)
        except OSError:
            part = b""
        texts[s] += part
        if part:
            continue
        poll.unregister(s)
        s.close()
        head = texts[s].split(b"\r\n\r\n")[0].decode()
        again = "retry" if "retry-after:" in head.lower() else "-"
        status = head.split(" ")[1] if head.startswith("HTTP/") else "dropped"
        seen[f"{status} {again}"] += 1
        with open(path + ".new", "w") as f:
            f.write(f"{seen.total()}\n")
        os.rename(path + ".new", path)
for what, count in sorted(seen.items()):
    print(what, count)
