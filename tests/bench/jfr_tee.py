#!/usr/bin/env python3
"""Hands each request on to a server, and keeps the recordings of its forms.

    jfr_tee.py PORT SERVER-PORT FOLDER     PUSH.jfr for each that was taken,
                                           a line of STATUS BYTES on stdout
"""
import gzip
import http.client
import http.server
import re
import sys


class Tee(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    pushes = 0

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers["Content-Length"]))
        parts = []
        while n := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(n))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def keep(self, body):
        boundary = re.search(r"boundary=(\S+)", self.headers["Content-Type"])
        for part in body.split(b"--" + boundary[1].encode())[1:-1]:
            head, _, data = part.partition(b"\r\n\r\n")
            if b'name="jfr"' not in head:
                continue
            data = data[:-2]
            if data[:2] == b"\x1f\x8b":
                data = gzip.decompress(data)
            Tee.pushes += 1
            with open(f"{sys.argv[3]}/{Tee.pushes}.jfr", "wb") as f:
                f.write(data)

    def do_POST(self):
        try:
            self.hand_on(self.body())
        except (ConnectionError, ValueError):
            self.close_connection = True  # the program has ended

    def hand_on(self, body):
        server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[2]))
        server.request("POST", self.path, body, {
            "Content-Type": self.headers["Content-Type"]})
        answer = server.getresponse()
        text = answer.read()
        print(answer.status, len(body), flush=True)
        if answer.status == 200:
            self.keep(body)
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])),
                                Tee).serve_forever()
