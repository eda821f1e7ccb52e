"""Makes batches whose content is random but known: profiles of several
rates and kinds, gauges, counters and histograms of several services and
instances, with gaps, recursion, names that need care, and late data.

    python3 world.py SEED SLOTS FIRST_SLOT DIR [SHARE]

writes DIR/early.mlb (what comes in order), DIR/late.mlb (what comes
afterwards for slots in between) and DIR/newest.mlb (the last slots, for an
open journal).  SHARE of the series have data in a slot (0.8).
"""
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'system'))
import mlb  # noqa: E402

SLOT_NS = 10_000_000_000
FLOW, STOCK, GAUGE, COUNTER, HISTOGRAM = 1, 2, 3, 4, 5


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def zigzag(n):
    return varint(n << 1 if n >= 0 else (-n << 1) - 1)


class Table:
    """Numbers things from 0 or 1, in the order of their first use."""
    def __init__(self, first):
        self.first, self.numbers, self.items = first, {}, []

    def number(self, item):
        if item not in self.numbers:
            self.numbers[item] = len(self.items) + self.first
            self.items.append(item)
        return self.numbers[item]


class Writer:
    """One batch, as store/batch/batch.h describes it."""
    def __init__(self, rng):
        self.id = rng.randbytes(16)
        self.strings, self.frames = Table(1), Table(0)
        self.labels, self.nodes, self.series = Table(1), Table(1), Table(0)
        self.blocks = []
        self.strings.numbers[''] = 0

    def labelset(self, labels):
        pairs = tuple(sorted(labels.items()))
        for pair in pairs:
            for s in pair:
                self.strings.number(s)
        return self.labels.number(pairs) if pairs else 0

    def stack(self, labels, frames):
        node = self.nodes.number((0, self.labelset(labels)))
        for f in frames:
            for s in f[1:4]:
                self.strings.number(s)
            node = self.nodes.number((node, self.frames.number(f)))
        return node

    def one(self, kind, name, unit, labels, period=0, scale=0):
        self.strings.number(name), self.strings.number(unit)
        return self.series.number((kind, name, unit, self.labelset(labels),
                                   period, scale))

    def add(self, series, slot, value):
        self.blocks.append((series, slot, value))

    def section(self, tag, rows):
        data = varint(len(rows)) + b''.join(rows)
        return varint(tag) + varint(len(data)) + data

    def record(self):
        s = self.strings.numbers
        # ordered, so that tables that others fill are complete
        frames = [bytes([k]) + varint(s[n]) + varint(s[m]) + varint(s[b]) +
                  varint(o) for k, n, m, b, o in self.frames.items]
        labels = [varint(len(p)) + b''.join(
            varint(s[a]) + varint(s[b]) for a, b in p)
            for p in self.labels.items]
        nodes = [varint(i + 1 - parent) + varint(edge)
                 for i, (parent, edge) in enumerate(self.nodes.items)]
        series = [bytes([k]) + varint(s[n]) + varint(s[u]) + varint(l) +
                  zigzag(p) + varint(c)
                  for k, n, u, l, p, c in self.series.items]
        blocks, last = [], 0
        for number, slot, value in self.blocks:
            blocks.append(varint(number) + zigzag(slot - last) + value)
            last = slot
        strings = [varint(0) + varint(len(t.encode())) + t.encode()
                   for t in self.strings.items]
        payload = bytes([1]) + self.id + varint(SLOT_NS) + b''.join(
            self.section(i + 1, rows) for i, rows in enumerate(
                (strings, frames, labels, nodes, series, blocks, [])))
        head = b'MLB1' + struct.pack('>II', len(payload),
                                     mlb.crc32c(payload))
        return head + struct.pack('>I', mlb.crc32c(head)) + payload


def entries(values):
    out, last = [varint(len(values))], 0
    for key, value in sorted(values.items()):
        out.append(varint(key - last) + varint(value))
        last = key
    return b''.join(out)


def bucket(value):
    """store/batch/batch.h: below 128 one each, then 128 to a power of two."""
    if value < 128:
        return max(value, 0)
    power = value.bit_length() - 8
    return 128 * (power + 1) + (value >> power) - 128


NAMES = ['main', 'read', 'write', 'lock', 'compact', 'flush', 'get', 'put',
         'memcpy', 'sort', 'idle', 'operator<', 'ns::f(int, char)::{lambda#1}',
         'größe', 'a;b', '<b>&"\'', 'x y', 'leaf', 'malloc', 'free']
# one kind and module a name: what looks the same is one function
FRAME = {n: (3 if n in ('idle', 'lock') else 1, n,
             '[kernel]' if n in ('idle', 'lock') else
             ('libc.so' if n in ('malloc', 'free', 'memcpy') else 'prog'),
             '', 16 * i) for i, n in enumerate(NAMES)}
PROFILES = [  # name, unit, kind, periods
    ('cpu', 'nanoseconds', FLOW, (10101010, 52631578, 1)),
    ('wall', 'nanoseconds', FLOW, (10000000,)),
    ('alloc_space', 'bytes', FLOW, (1,)),
    ('inuse_space', 'bytes', STOCK, (1,)),
    ('inuse_objects', 'objects', STOCK, (1,)),
]


class World:
    def __init__(self, seed, slots, first):
        self.rng = random.Random(seed)
        self.slots, self.first = slots, first
        self.services = [f's{i}' for i in range(5)]
        self.stacks = {s: [self.random_stack() for _ in range(30)]
                       for s in self.services}
        self.raw = {}

    def random_stack(self):
        rng = self.rng
        labels = {'pool': rng.choice('abc')}
        if rng.random() < 0.5:
            labels['process'] = rng.choice(['one', 'two'])
        if rng.random() < 0.3:
            labels['instance'] = rng.choice(['1', '2'])
        depth = rng.choice([1, 2, 3, 5, 9, 14])
        return labels, tuple(FRAME[n] for n in
                             ['main'] + rng.choices(NAMES, k=depth))

    def profiles(self, w, slot, share):
        rng = self.rng
        for service in self.services:
            for name, unit, kind, periods in PROFILES:
                if rng.random() > share:
                    continue
                # the rate changes now and then, and with it the series
                period = periods[slot // 37 % len(periods)]
                series = w.one(kind, name, unit, {'service': service},
                               period)
                some = rng.sample(self.stacks[service], rng.choice(
                    [0, 1, 3, 8, 20]))
                big = kind == STOCK or unit == 'bytes'
                values = {}
                for labels, frames in some:
                    node = w.stack(labels, frames)
                    values[node] = values.get(node, 0) + rng.randint(
                        1, 5000 if big else 40)
                w.add(series, slot, varint(1) + entries(values))

    def metrics(self, w, slot, share):
        rng = self.rng
        for service in self.services[:3]:
            for instance in ('1', '2'):
                labels = {'service': service, 'instance': instance}
                if rng.random() < share:
                    n = rng.randint(1, 3)
                    v = [rng.randint(-5000, 5000) for _ in range(n)]
                    w.add(w.one(GAUGE, 'w_gauge', 'bytes', labels), slot,
                          varint(n) + zigzag(min(v)) +
                          varint(max(v) - min(v)) + zigzag(sum(v)) +
                          zigzag(v[-1]) + zigzag(9_000_000_000))
                if rng.random() < share:
                    up = rng.randint(0, 9000)
                    raw = self.raw[service, instance] = self.raw.get(
                        (service, instance), 0) + up
                    w.add(w.one(COUNTER, 'w_total', 'seconds', labels,
                                scale=3), slot, varint(up) + varint(1) +
                          zigzag(raw) + zigzag(5_000_000_000))
            if rng.random() < share:
                v = [int(rng.lognormvariate(12, 2))
                     for _ in range(rng.randint(1, 60))]
                counts = {}
                for x in v:
                    counts[bucket(x)] = counts.get(bucket(x), 0) + 1
                w.add(w.one(HISTOGRAM, 'w_seconds', 'seconds',
                            {'service': service}, scale=9), slot,
                      entries(counts) + zigzag(sum(v)) + zigzag(min(v)) +
                      zigzag(max(v)))

    def write(self, path, slots, share, metrics):
        with open(path, 'wb') as f:
            for slot in slots:
                w = Writer(self.rng)
                self.profiles(w, slot, share)
                if metrics:
                    self.metrics(w, slot, share)
                if w.blocks:
                    f.write(w.record())


def main(seed, slots, first, where, share='0.8'):
    world = World(int(seed), int(slots), int(first))
    span = range(world.first, world.first + world.slots)
    # one gap of some length; the end of the range stays
    gap = world.rng.randrange(world.slots // 4, world.slots // 2)
    early = [s for s in span if not gap <= s - world.first < gap + 20]
    share, newest = float(share), max(world.slots // 10, 1)
    world.write(os.path.join(where, 'early.mlb'), early[:-newest], share,
                True)
    late = sorted(world.rng.sample(list(span)[:-newest], world.slots // 10))
    world.write(os.path.join(where, 'late.mlb'), late, share / 2, False)
    world.write(os.path.join(where, 'newest.mlb'), early[-newest:], share,
                True)


if __name__ == '__main__':
    main(*sys.argv[1:])
