#!/usr/bin/env python3
# Clients that push, all at once, and pages that ask, over plain HTTP:
#
#	limits_push.py PORT CLIENTS PUSHES PAGES keep|new
#
# Each client pushes PUSHES profiles of services of its own, one after the
# other, on one connection or on a new one each; meanwhile PAGES ask for a
# flame graph again and again, a second apart.  One line of JSON: statuses
# ("broken" has none), milliseconds, services.
import asyncio
import collections
import json
import sys
import time

port, clients, pushes, pages = (int(a) for a in sys.argv[1:5])
keep = sys.argv[5] == "keep"
now = int(time.time()) // 10 * 10 - 10
body = "".join(f"main;work{i};call{j} {1 + i * j}\n" for i in range(10)
               for j in range(10)).encode()
seen = {"push": collections.Counter(), "page": collections.Counter()}
took = {"push": [], "page": []}
stop = False


async def answer(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode().lower().split("\r\n")
    fields = dict(l.split(": ", 1) for l in lines[1:] if ": " in l)
    status = lines[0].split(" ")[1]
    if "content-length" in fields:
        await reader.readexactly(int(fields["content-length"]))
    else:
        while (n := int(await reader.readline(), 16)) > 0:
            await reader.readexactly(n + 2)
        await reader.readline()
    if status == "429" and "retry-after" not in fields:
        status = "429 without Retry-After"
    return status, fields.get("connection") == "close"


async def ask(what, link, text):
    begun = time.monotonic()
    try:
        if link is None:
            link = await asyncio.open_connection("127.0.0.1", port)
        link[1].write(text)
        status, end = await answer(link[0])
    except (OSError, ValueError, asyncio.IncompleteReadError):
        status, end = "broken", True
    seen[what][status] += 1
    took[what].append((time.monotonic() - begun) * 1000)
    if link is not None and (end or not keep):
        link[1].close()
        link = None
    return link


async def client(number):
    link = None
    for i in range(pushes):
        uri = f"/ingest?name=limits{number}x{i}.cpu&from={now}&until={now + 10}"
        link = await ask("push", link, (f"POST {uri} HTTP/1.1\r\n"
            "Host: localhost\r\nContent-Type: text/plain\r\n"
            f"Connection: {'keep-alive' if keep else 'close'}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body)
    if link is not None:
        link[1].close()


async def page(number):
    text = ("GET /api/v1/flamegraph.json?query=cpu%7Bservice%3D%22limits"
        f"{number}x0%22%7D&from={now}&until={now + 10} HTTP/1.1\r\n"
        "Host: localhost\r\n\r\n").encode()
    link = None
    while not stop:
        link = await ask("page", link, text)
        await asyncio.sleep(1)


async def main():
    global stop
    asking = [asyncio.create_task(page(i)) for i in range(pages)]
    begun = time.monotonic()
    await asyncio.gather(*(client(i) for i in range(clients)))
    seconds = time.monotonic() - begun
    stop = True
    await asyncio.gather(*asking)
    out = {"seconds": round(seconds, 2)}
    for what in seen:
        times = sorted(took[what]) or [0]
        out[what] = {"statuses": seen[what], "n": len(took[what]),
            "p50": round(times[len(times) // 2], 1),
            "p99": round(times[len(times) * 99 // 100], 1)}
    print(json.dumps(out))

asyncio.run(main())
