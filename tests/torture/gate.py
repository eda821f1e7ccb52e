"""Between HTTP on the loopback and a worker's socket, for programs that
speak HTTP alone; prints the address that it serves.

    python3 gate.py SOCKET
"""
import http.server
import sys

import fcgi


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        status, headers, body = fcgi.ask(sys.argv[1], 'GET', self.path)
        self.send_response(status)
        self.send_header('Content-Type', headers.get('content-type', ''))
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == '__main__':
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    print(f'http://127.0.0.1:{server.server_port}/', flush=True)
    server.serve_forever()
