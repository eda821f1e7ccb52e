"""Asks a worker over its socket: FastCGI, one request a connection.

    status, headers, body = fcgi.ask('/path/to/sock', 'GET', '/api/v1/health')
"""
import socket
import struct

BEGIN, END, PARAMS, STDIN, STDOUT = 1, 3, 4, 5, 6


def _record(kind, content):
    return struct.pack('>BBHHBB', 1, kind, 1, len(content), 0, 0) + content


def _pair(name, value):
    out = b''
    for s in (name, value):
        out += (struct.pack('>B', len(s)) if len(s) < 128
                else struct.pack('>I', len(s) | 1 << 31))
    return out + name + value


def _stream(kind, data):
    out = b''
    for at in range(0, len(data), 65528):
        out += _record(kind, data[at:at + 65528])
    return out + _record(kind, b'')


def _answer(s):
    """The bytes of the answer's stream."""
    data, out, at = b'', [], 0
    while True:
        part = s.recv(1 << 16)
        data += part
        while len(data) - at >= 8:
            _, kind, _, n, pad, _ = struct.unpack('>BBHHBB',
                                                  data[at:at + 8])
            if len(data) - at < 8 + n + pad:
                break
            if kind == STDOUT:
                out.append(data[at + 8:at + 8 + n])
            at += 8 + n + pad
            if kind == END:
                return b''.join(out)
        if not part:
            raise OSError('the worker has hung up')


def ask(path, method, uri, body=b'', kind=''):
    env = {'REQUEST_METHOD': method, 'REQUEST_URI': uri,
           'QUERY_STRING': uri.partition('?')[2], 'HTTP_HOST': 'localhost',
           'SERVER_PROTOCOL': 'HTTP/1.1', 'CONTENT_LENGTH': str(len(body)),
           'CONTENT_TYPE': kind}
    params = b''.join(_pair(k.encode(), v.encode()) for k, v in env.items())
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(120)
        s.connect(path)
        s.sendall(_record(BEGIN, struct.pack('>HB5x', 1, 0)) +
                  _stream(PARAMS, params) + _stream(STDIN, body))
        whole = _answer(s)
    head, _, rest = whole.partition(b'\r\n\r\n')
    headers = {}
    for line in head.decode('latin-1').split('\r\n'):
        name, _, value = line.partition(':')
        headers[name.lower()] = value.strip()
    return int(headers.get('status', '200')[:3]), headers, rest
