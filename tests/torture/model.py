"""What exported batches say, by the plainest arithmetic: for each series and
stack a running sum over slots.  Knows nothing of levels, files, caches.

    m = model.Model(); m.load('export.mlb')
    p = m.profile({'name': 'cpu', 'match': [('service', '=', 's1')]}, a, b)
    p.stacks   {(frames from the root): [amount, samples, unknown]}

Of a flow in nanoseconds without a period nobody knows how many samples it
is: its amount is `unknown`, too.
"""
import bisect
import itertools
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'system'))
import mlb  # noqa: E402


# Older stores have other words for the unit of answers.
UNITS = {'objects': 'count'}


def accepts(value, op, wanted):
    if op in ('=', '!='):
        return (value == wanted) == (op == '=')
    hit = re.fullmatch(wanted, value) is not None
    return hit == (op == '=~')


class Line:
    """Numbers by slot, and their running sums."""
    def __init__(self):
        self.at = {}

    def add(self, slot, value):
        self.at[slot] = self.at.get(slot, 0) + value

    def freeze(self):
        self.slots = sorted(self.at)
        self.sums = [0] + list(itertools.accumulate(
            self.at[s] for s in self.slots))

    def sum(self, a, b):
        return (self.sums[bisect.bisect_left(self.slots, b)] -
                self.sums[bisect.bisect_left(self.slots, a)])

    def inside(self, a, b):
        return self.slots[bisect.bisect_left(self.slots, a):
                          bisect.bisect_left(self.slots, b)]


class Profile:
    """A sum over a range: stacks, and what is known beside it."""
    def __init__(self):
        self.stacks, self.series, self.periods = {}, 0, set()
        self.slots, self.unit, self.kind = 0, '', None
        self.parts = 0  # rounded parts: how far integers may be off

    @property
    def total(self):
        return sum(v[0] for v in self.stacks.values())

    @property
    def counted(self):
        """Does anything say how many samples it is?"""
        return any(v[1] for v in self.stacks.values())


class Model:
    def __init__(self):
        self.series, self.slot_ns = {}, 0
        self.first = self.until = 0

    def load(self, path):
        with open(path, 'rb') as f:
            for batch in mlb.batches(f.read()):
                self.slot_ns = batch.slot_ns
                paths = self.paths(batch)
                for series, slot, value in batch.blocks:
                    self.take(series, slot, value, paths)
        for s in self.series.values():
            for line in s['lines'].values():
                line.freeze()
        slots = [x for s in self.series.values()
                 for x in s.get('blocks', s['lines'].get('seen', Line()).at)]
        self.first, self.until = min(slots), max(slots) + 1

    @staticmethod
    def paths(batch):
        """Node number -> (labels, frames)."""
        out = [(None, ())]
        for number, (parent, edge) in enumerate(batch.nodes[1:], 1):
            if parent == 0:
                out.append((tuple(sorted(batch.labels[edge].items())), ()))
            else:
                labels, frames = out[parent]
                out.append((labels, frames + (batch.frames[edge],)))
        return out

    def take(self, series, slot, value, paths):
        key = (mlb.key(series), series['kind'], series['unit'],
               series['period'], series['scale'])
        s = self.series.setdefault(key, {'desc': series, 'lines': {}})
        if series['kind'] in ('flow', 'stock'):
            self.line(s, 'seen').add(slot, value['observations'])
            for node, amount in value['entries']:
                self.line(s, paths[node]).add(slot, amount)
        else:
            s.setdefault('blocks', {}).setdefault(slot, []).append(value)

    @staticmethod
    def line(s, key):
        return s['lines'].setdefault(key, Line())

    def matching(self, query, kinds):
        """Series that a selector takes, its stack labels left aside."""
        for s in self.series.values():
            d = s['desc']
            if d['kind'] in kinds and d['name'] == query['name'] and all(
                    accepts(d['labels'].get(l, ''), op, v)
                    for l, op, v in query['match'] if l == 'service' or
                    d['kind'] not in ('flow', 'stock')):
                yield s

    def profile(self, query, a, b):
        """The sum over whole slots [a, b)."""
        p, slots = Profile(), set()
        for s in self.matching(query, ('flow', 'stock')):
            seen = s['lines']['seen'].sum(a, b)
            if seen == 0:
                continue
            d = s['desc']
            p.unit, p.kind = UNITS.get(d['unit'], d['unit']), d['kind']
            p.series += 1
            p.periods.add(d['period'])
            slots.update(s['lines']['seen'].inside(a, b))
            p.slots = len(slots)
            for key, line in s['lines'].items():
                if key != 'seen' and self.takes(query, key[0]):
                    self.add(p, d, key[1], line.sum(a, b), seen)
        return p

    @staticmethod
    def takes(query, labels):
        have = dict(labels)
        return all(accepts(have.get(l, ''), op, v)
                   for l, op, v in query['match'] if l != 'service')

    @staticmethod
    def add(p, d, frames, value, seen):
        if value == 0:
            return
        path = tuple((f[0], f[1]) for f in frames)
        have = p.stacks.setdefault(path, [0, 0, 0])
        if d['kind'] == 'stock':  # a mean: not rounded here
            have[0] += value / seen
        else:
            have[0] += value * d['period']
        if d['unit'] == 'nanoseconds' and d['period'] == 1:
            have[2] += value
        else:
            have[1] += value

    # ---- metrics ----

    def metric(self, s, a, b):
        """Blocks of [a, b), folded."""
        found = [(slot, v) for slot, vs in s.get('blocks', {}).items()
                 if a <= slot < b for v in vs]
        return sorted(found, key=lambda x: x[0])

    def histogram(self, s, a, b):
        counts = {}
        found = [v for _, v in self.metric(s, a, b)]
        for v in found:
            for bucket, n in v['entries']:
                counts[bucket] = counts.get(bucket, 0) + n
        return counts, found


# ---- trees and tables of a profile ----

def shaped(stacks, focus='', ignore=''):
    keep, drop = focus and re.compile(focus), ignore and re.compile(ignore)
    return {path: v for path, v in stacks.items()
            if (not keep or any(keep.search(n) for _, n in path)) and
            not (drop and any(drop.search(n) for _, n in path))}


def tree(stacks, reverse=False):
    """{path of names: [self, total of the amount, of samples, unknown]}"""
    out = {(): [0] * 6}
    for path, v in stacks.items():
        names = tuple(n for _, n in path)
        if reverse:
            names = names[::-1]
        for depth in range(len(names) + 1):
            add(out.setdefault(names[:depth], [0] * 6), v, 1)
        add(out[names], v, 0)
    return out


def add(row, values, at):
    """Selfs (at 0) or totals (at 1) of the amount, samples, unknown."""
    for k, v in enumerate(values):
        row[2 * k + at] += v


def table(stacks):
    """{name: the same six}, recursion once."""
    out = {}
    for path, v in stacks.items():
        names = [n for _, n in path]
        for name in set(names):
            add(out.setdefault(name, [0] * 6), v, 1)
        if names:
            add(out[names[-1]], v, 0)
    return out


def sandwich(stacks, name):
    """(callers, callees): stacks that begin with the function."""
    up, down = {}, {}
    for path, v in stacks.items():
        names = [n for _, n in path]
        if name in names:
            at = names.index(name)
            for side, part in ((up, names[at::-1]), (down, names[at:])):
                have = side.setdefault(tuple(part), [0, 0, 0])
                for k in range(3):
                    have[k] += v[k]
    return up, down


def bounds(bucket):
    """The values [low, next) of a bucket: see store/batch/batch.h."""
    if bucket < 256:
        return bucket, bucket + 1
    power = bucket // 128 - 1
    low = (bucket - 128 * power) << power
    return low, low + (1 << power)


def quantile(counts, share):
    """The bucket that holds it."""
    want, n = share * sum(counts.values()), 0
    for bucket in sorted(counts):
        n += counts[bucket]
        if n >= want - 1e-9:
            return bucket
    return None
