"""heap_endpoints.py PORT FOLDER: its files as they are, and endpoints that no
profiler should trust."""
import gzip
import os
import socketserver
import sys
import time

folder = sys.argv[2]
bomb = gzip.compress(bytes(300 << 20), 9)


class Endpoint(socketserver.StreamRequestHandler):
    def head(self, *fields):
        self.wfile.write('\r\n'.join(
            ('HTTP/1.1 200 OK', 'Connection: close') + fields +
            ('', '')).encode())

    def whole(self, body):
        self.head('Content-Length: %d' % len(body))
        self.wfile.write(body)

    def never(self):
        self.head('Transfer-Encoding: chunked')
        while True:
            self.wfile.write(b'1\r\n@\r\n')
            self.wfile.flush()
            time.sleep(0.05)

    def flood(self):
        self.head()
        while True:
            self.wfile.write(b'@' * 65536)

    def lies(self):
        self.head('Content-Length: 100000')
        self.wfile.write(b'heap_v2/1\n')

    def large(self):
        self.head('Content-Length: %d' % (2 << 30))
        self.flood_body()

    def flood_body(self):
        for _ in range(1000):
            self.wfile.write(b'@' * 65536)

    def bomb(self):
        self.whole(bomb)

    def half(self):
        with open(os.path.join(folder, 'now.heap'), 'rb') as f:
            body = f.read()
        self.whole(body[:len(body) // 2])

    def page(self):
        self.whole(b'<html>no such thing</html>\n')

    def moved(self):
        self.wfile.write(b'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1'
                         b':%d/now.heap\r\nContent-Length: 0\r\n\r\n' %
                         int(sys.argv[1]))

    def drip(self):
        with open(os.path.join(folder, 'now.heap'), 'rb') as f:
            body = f.read()
        self.head('Content-Length: %d' % len(body))
        for byte in body:
            self.wfile.write(bytes((byte,)))
            time.sleep(0.02)

    def heads(self):
        self.wfile.write(b'HTTP/1.1 200 OK\r\n')
        while True:
            self.wfile.write(b'X-More: %s\r\n' % (b'x' * 60000))

    def chunks(self):
        self.head('Transfer-Encoding: chunked')
        self.wfile.write(b'-5\r\nheap_v2/1\n\r\nzz\r\n')

    def torn(self):
        self.head('Transfer-Encoding: chunked')
        self.wfile.write(b'fffffff\r\nheap_v2/1\n')

    def empty(self):
        self.whole(b'')

    def handle(self):
        path = self.rfile.readline().split()[1].decode()
        while self.rfile.readline().strip():
            pass
        name = path.rsplit('/', 1)[1].split('?')[0]
        file = os.path.join(folder, name)
        try:
            if os.path.exists(file):
                with open(file, 'rb') as f:
                    self.whole(f.read())
            else:
                getattr(self, name)()
        except OSError:
            pass


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


Server(('127.0.0.1', int(sys.argv[1])), Endpoint).serve_forever()
