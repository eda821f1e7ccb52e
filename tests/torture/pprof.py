"""Reads a pprof profile (gzip, protobuf) without any code of ours.

    p = pprof.read(body)
    p.types      [('samples', 'count'), ('cpu', 'nanoseconds')]
    p.stacks     {(leaf ... root names): [values]}, equal stacks added
    p.parts      {(leaf ... root names): how many samples that were}
"""
import gzip


def fields(data):
    """(number, value) of one message: ints, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 2:
            n = varint()
            yield tag >> 3, data[at:at + n]
            at += n
        else:
            raise ValueError(f'wire type {tag & 7}')


def numbers(value):
    """A repeated field that may be packed."""
    if isinstance(value, int):
        return [value]
    out, number, shift = [], 0, 0
    for byte in value:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            out.append(number)
            number = shift = 0
    return out


class Profile:
    def __init__(self, data):
        self.strings, self.types, self.period = [], [], 0
        samples, types, functions, locations = [], [], {}, {}
        for n, v in fields(data):
            if n == 1:
                types.append(dict(fields(v)))
            elif n == 2:
                samples.append(self.sample(v))
            elif n == 4:
                self.location(v, locations)
            elif n == 5:
                f = dict(fields(v))
                functions[f[1]] = f.get(2, 0)
            elif n == 6:
                self.strings.append(v.decode('utf-8', 'replace'))
            elif n == 12:
                self.period = v
        self.types = [tuple(self.strings[t.get(k, 0)] for k in (1, 2))
                      for t in types]
        self.samples, self.stacks, self.parts = samples, {}, {}
        for where, values in samples:
            path = tuple(self.strings[functions[f]]
                         for l in where for f in locations[l])
            have = self.stacks.setdefault(path, [0] * len(values))
            self.parts[path] = self.parts.get(path, 0) + 1
            for i, v in enumerate(values):
                have[i] += v

    @staticmethod
    def sample(data):
        where, values = [], []
        for n, v in fields(data):
            if n == 1:
                where += numbers(v)
            elif n == 2:
                values += numbers(v)
        return where, values

    @staticmethod
    def location(data, locations):
        number, lines = 0, []
        for n, v in fields(data):
            if n == 1:
                number = v
            elif n == 4:
                lines.append(dict(fields(v)).get(1, 0))
        locations[number] = lines


def read(body):
    return Profile(gzip.decompress(body) if body[:2] == b'\x1f\x8b'
                   else body)
