"""Reads records of batches (store/batch/batch.h) without any code of the store.

    python3 mlb.py FILE            every block as one line of text
    python3 mlb.py FILE facts      every fact
    python3 mlb.py FILE blocks 20  of the last 20 records; the file may grow
    python3 mlb.py FILE blocks 20 BYTES   those of them that hold these bytes
    python3 mlb.py FILE slots      of the first block of each record
    import mlb; for b in mlb.batches(open(f, 'rb').read()): ...
"""
import struct
import sys

KINDS = {1: 'flow', 2: 'stock', 3: 'gauge', 4: 'counter', 5: 'histogram'}


def _crc_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82f63b78 if i & 1 else 0)
        table.append(i)
    return table


_TABLE = _crc_table()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xffffffff


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def u8(self):
        self.at += 1
        return self.data[self.at - 1]

    def raw(self, n):
        self.at += n
        assert self.at <= len(self.data), 'past the end'
        return self.data[self.at - n:self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def zigzag(self):
        v = self.varint()
        return v >> 1 ^ -(v & 1)

    def bytes(self):
        return self.raw(self.varint())


def records(data):
    """The payloads of the records in `data`; raises on damage."""
    at = 0
    while at < len(data):
        assert data[at:at + 4] == b'MLB1', f'no record at {at}'
        n, crc, head = struct.unpack('>III', data[at + 4:at + 16])
        assert crc32c(data[at:at + 12]) == head, f'header at {at}'
        payload = data[at + 16:at + 16 + n]
        assert len(payload) == n, f'cut at {at}'
        yield payload, crc
        at += 16 + n


class Batch:
    def __init__(self, payload):
        c = Cursor(payload)
        assert c.u8() == 1
        self.id = c.raw(16)
        self.slot_ns = c.varint()
        self.strings, self.frames, self.labels = [''], [], [{}]
        self.nodes, self.series = [(0, 0)], []
        self.blocks, self.facts = [], []
        while c.at < len(payload):
            tag = c.varint()
            section = Cursor(c.bytes())
            getattr(self, f'section_{tag}')(section)

    def section_1(self, c):
        last = b''
        for _ in range(c.varint()):
            last = last[:c.varint()] + c.bytes()
            self.strings.append(last.decode('utf-8', 'replace'))

    def section_2(self, c):
        for _ in range(c.varint()):
            kind = c.u8()
            name, module, build_id = (self.strings[c.varint()]
                                      for _ in range(3))
            self.frames.append((kind, name, module, build_id, c.varint()))

    def section_3(self, c):
        for _ in range(c.varint()):
            self.labels.append({
                self.strings[c.varint()]: self.strings[c.varint()]
                for _ in range(c.varint())})

    def section_4(self, c):
        for _ in range(c.varint()):
            parent = len(self.nodes) - c.varint()
            self.nodes.append((parent, c.varint()))

    def section_5(self, c):
        for _ in range(c.varint()):
            kind = c.u8()
            name, unit = self.strings[c.varint()], self.strings[c.varint()]
            labels = self.labels[c.varint()]
            self.series.append({'kind': KINDS[kind], 'name': name,
                                'unit': unit, 'labels': labels,
                                'period': c.zigzag(), 'scale': c.varint()})

    def section_6(self, c):
        slot = 0
        for _ in range(c.varint()):
            series = self.series[c.varint()]
            slot += c.zigzag()
            self.blocks.append((series, slot,
                                getattr(self, series['kind'])(c)))

    def section_7(self, c):
        for _ in range(c.varint()):
            time_ns = c.zigzag()
            kind = c.u8()
            subject = self.strings[c.varint()]
            self.facts.append((time_ns, kind, subject, c.bytes()))

    @staticmethod
    def entries(c):
        key, out = 0, []
        for _ in range(c.varint()):
            key += c.varint()
            out.append((key, c.varint()))
        return out

    def flow(self, c):
        return {'observations': c.varint(), 'entries': self.entries(c)}

    stock = flow

    @staticmethod
    def gauge(c):
        count, low = c.varint(), c.zigzag()
        return {'count': count, 'min': low, 'max': low + c.varint(),
                'sum': c.zigzag(), 'last': c.zigzag(), 'at': c.zigzag()}

    @staticmethod
    def counter(c):
        return {'increase': c.varint(), 'count': c.varint(),
                'last': c.zigzag(), 'at': c.zigzag()}

    def histogram(self, c):
        return {'entries': self.entries(c), 'sum': c.zigzag(),
                'min': c.zigzag(), 'max': c.zigzag()}


def batches(data):
    for payload, crc in records(data):
        yield Batch(payload)


def key(series):
    """name{label="value",...}, labels sorted."""
    labels = ','.join(f'{k}="{v}"' for k, v in sorted(
        series['labels'].items()))
    return f'{series["name"]}{{{labels}}}'


def whole(data):
    """The payloads of a file that somebody writes: without the last one if
    not all of it is there."""
    out = []
    try:
        for payload, _ in records(data):
            out.append(payload)
    except (AssertionError, struct.error):
        pass
    return out


def slot_of(payload):
    """The slot of a record's first block, without reading all of it."""
    c = Cursor(payload)
    c.raw(17)
    c.varint()
    while c.at < len(payload):
        tag, section = c.varint(), Cursor(c.bytes())
        if tag == 6 and section.varint() > 0:
            section.varint()
            return section.zigzag()
    return None


def main(path, what='blocks', last=None, held=''):
    with open(path, 'rb') as f:
        data = f.read()
    if what == 'slots':
        for slot in map(slot_of, whole(data)):
            if slot is not None:
                print(slot)
        return
    for b in batches(data) if last is None else (
            Batch(p) for p in whole(data)[-int(last):]
            if held.encode() in p):
        for time_ns, kind, subject, text in b.facts:
            if what == 'facts':
                print(time_ns, kind, subject, text.decode(
                    'utf-8', 'replace'), sep='\t')
        for series, slot, value in b.blocks:
            if what == 'blocks':
                print(slot, series['kind'], key(series),
                      f'scale={series["scale"]}', value)


if __name__ == '__main__':
    try:
        main(*sys.argv[1:])
    except BrokenPipeError:
        pass
