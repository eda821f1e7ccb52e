#!/usr/bin/env python3
"""Asks a worker random questions and recomputes each answer from exported
batches alone (model.py), without any code of ours.

    answers.py EXPORT SOCKET [QUESTIONS [SEED [MODE]]]

EXPORT is what `memlens export` wrote of the worker's store.  Each kind of
question is a function that asks, compares and raises Wrong; MODES lists
them.  MODE is "whole"; "retained": EXPORT was written before retention took
the fine slots, and answers say which range they cover; "damaged": it was
written before the store was damaged, and answers say what they lack.  Ends
with a line "N questions, N wrong"; the status is 0 when none is.

Amounts of flows must be equal to the last digit, in the type's unit, with
the count of samples beside them.  Amounts of stocks are means that were
rounded: off by less than one for each series and node, exact at the root.
"""
import collections
import json
import random
import sys
import urllib.parse

import fcgi
import model as truth
import pprof
from check import Wrong, must


def same(got, want, what, slack=0):
    must(abs(got - want) <= slack, what, 'is', got, 'not', want)


PROFILES = {'cpu': 'process_cpu:cpu:nanoseconds:cpu:nanoseconds',
            'wall': 'wall:wall:nanoseconds:wall:nanoseconds',
            'inuse_space': 'memory:inuse_space:bytes:space:bytes',
            'alloc_space': 'memory:alloc_space:bytes:space:bytes',
            'inuse_objects': 'memory:inuse_objects:count:space:bytes'}


class Asker:
    def __init__(self, export, path, seed, mode):
        self.rng, self.mode = random.Random(seed), mode
        self.model = truth.Model()
        self.model.load(export)
        self.slot_s = self.model.slot_ns // 1000000000
        self.path, self.uri = path, ''
        self.first, self.last = self.model.first, self.model.until
        # Of profiles: what the daemon says of itself, when a slot of its own
        # has closed before the export, has no service, which is no error.
        self.services = sorted({s['desc']['labels'].get('service', '')
                                for s in self.model.series.values()
                                if s['desc']['kind'] in ('flow', 'stock')})

    # ---- asking ----

    def ask(self, page, expect=200, body=b'', kind='', **params):
        self.uri = page + ('?' if params else '') + urllib.parse.urlencode(
            {k.replace('_', '-'): v for k, v in params.items()})
        status, headers, data = fcgi.ask(
            self.path, 'POST' if body else 'GET', self.uri, body, kind)
        must(status in (expect if isinstance(expect, tuple) else (expect,)),
             'status', status, data[:300])
        self.status, self.headers = status, headers
        return data

    def json(self, page, **params):
        return json.loads(self.ask('/api/v1/' + page, **params))

    def range(self):
        """Whole slots; now and then beyond what there is."""
        a, b = sorted(self.rng.sample(
            range(self.first - 3, self.last + 4), 2))
        return a, b

    def covered(self, text, a, b):
        """The range that a profile of [a, b) really covers: where fine slots
        are gone it is that of the spans that hold it."""
        if self.mode != 'retained':
            return a, b
        m = self.json('flamegraph.json', query=text, max_nodes=1,
                      **self.times(a, b))['memlens']
        must(m['from'] % self.slot_s == 0 and m['until'] % self.slot_s == 0,
             'covers parts of slots')
        x, y = m['from'] // self.slot_s, m['until'] // self.slot_s
        must(a - 4096 < x <= a and b <= y < b + 4096,
             'covers', x, y, 'of', a, b)
        # that there are no such stacks is said rather
        must(('whole spans' in m['why']) == ((x, y) != (a, b)) or
             m['state'] != 'data', 'why', m['why'])
        must((x, y) == self.covered_steps(a, b), 'metrics cover others',
             self.covered_steps(a, b))
        return int(x), int(y)

    def covered_steps(self, a, b):
        """The same of what is asked for by steps."""
        d = self.json('series', query='w_gauge', step=(b - a) * self.slot_s,
                      **self.times(a, b))
        return int(d['from']) // self.slot_s, int(d['until']) // self.slot_s

    def profile(self, query, text, a, b):
        return self.model.profile(query, *self.covered(text, a, b))

    def times(self, a, b):
        return {'from': a * self.slot_s, 'until': b * self.slot_s}

    def selector(self, stacks=True):
        rng = self.rng
        name = rng.choice(list(PROFILES))
        one = rng.choice(self.services)
        match = rng.choice([
            [('service', '=', one)], [('service', '=', one)],
            [('service', '=~', 's[0-2]')], [('service', '!=', one)], []])
        if stacks and rng.random() < 0.4:
            match = match + [rng.choice([
                ('pool', '=', 'a'), ('pool', '!=', 'b'),
                ('pool', '=~', 'a|c'), ('process', '=', 'one'),
                ('process', '=', ''), ('instance', '=', '2'),
                ('instance', '!~', '1|2'), ('pool', '=', 'none')])]
        query = {'name': name, 'match': match}
        inside = ','.join(f'{l}{op}"{v}"' for l, op, v in match)
        return query, f'{name}{{{inside}}}'

    def shape(self):
        rng, out = self.rng, {}
        if rng.random() < 0.3:
            out['focus'] = rng.choice(['^read$', 'lambda', 'lock|write',
                                       'größe', 'nothing at all'])
        if rng.random() < 0.2:
            out['ignore'] = rng.choice(['^idle$', 'leaf|x y', 'operator<'])
        return out


# ---- what answers about profiles have in common ----

def slack_of(p, n=1):
    """Means are rounded once a series; flows never."""
    return 0 if p.kind == 'flow' else max(p.series, 1) * n + 1e-6


def compare_head(memlens, p, stacks):
    total = sum(v[0] for v in stacks.values())
    samples, unknown = (sum(v[k] for v in stacks.values()) for k in (1, 2))
    if p.slots == 0:
        must(memlens['state'] in ('no data', 'not attached'), 'state',
             memlens['state'], 'without data')
        return
    whole = p.total != 0
    # a label that no stack has is no data; looked at and nothing seen is 0
    must(memlens['state'] == 'data' if whole else
         memlens['state'] in ('zero', 'no data'), 'state', memlens['state'],
         'of a total of', p.total)
    must(memlens['partial'] == [], 'partial', memlens['partial'])
    if memlens.get('slots_exact', True):
        same(memlens['slots'], p.slots, 'slots')
    same(memlens['total'], p.total, 'total before focus', slack_of(p))
    must(memlens['unit'] == p.unit, 'unit', memlens['unit'], p.unit)
    if p.unit == 'nanoseconds' and not p.counted:
        must(not p.total or memlens['samples'] is None, 'samples of what '
             'nobody has counted', memlens['samples'])
    elif p.unit == 'nanoseconds':
        same(memlens['samples'], samples, 'samples')
        same(memlens['samples_unknown'], unknown, 'samples_unknown')
        must(memlens['period'] in (*p.periods, None), 'period',
             memlens['period'], p.periods)
    return total


def bearer_tree(fb, samples_of=None):
    """{path of names: [self, total]} of a flamebearer, equal paths added;
    with samples: those of the samples and of what is unknown, too."""
    out, above = {}, []
    for depth, flat in enumerate(fb['levels']):
        row, at = [], 0
        for k in range(0, len(flat), 4):
            offset, total, own, name = flat[k:k + 4]
            x = at + offset
            at = x + total
            path = ()
            if depth > 0:
                up = [p for p in above if p[0] <= x and at <= p[1]]
                must(up, 'a frame without a caller', fb['names'][name])
                path = up[0][2] + (fb['names'][name],)
            row.append((x, at, path))
            node = out.setdefault(path, [0] * 6)
            node[0] += own
            node[1] += total
            if samples_of:
                for at_, (all_, mine) in enumerate(
                        samples_of(depth, k // 4, total, own), 1):
                    node[2 * at_] += mine
                    node[2 * at_ + 1] += all_
        above = row
    return out


def samples_reader(memlens):
    """How samples stand beside amounts: contract of flamegraph.json."""
    levels, period = memlens.get('sample_levels'), memlens.get('period')
    unknown = memlens.get('unknown_levels')
    if levels:
        return lambda depth, i, total, own: [
            of[depth][2 * i:2 * i + 2] for of in (levels, unknown) if of]
    if not period or memlens.get('samples') is None:
        return None

    def divide(depth, i, total, own):
        must(total % period == 0 and own % period == 0, total, own,
             'are no multiples of', period)
        return [(total // period, own // period)]
    return divide


COLUMNS = ('self', 'total', 'self_samples', 'total_samples', 'self_unknown',
           'total_unknown')


def compare_tree(got, want, slack, samples):
    for path in set(got) | set(want):
        g, w = got.get(path, [0] * 6), want.get(path, [0] * 6)
        for i in range(6 if samples else 2):
            same(g[i], w[i], f'{COLUMNS[i]} of {";".join(path) or "the root"}',
                 slack)


# ---- kinds of questions ----

def flamegraph(q):
    query, text = q.selector()
    a, b = q.range()
    shape = q.shape()
    p = q.profile(query, text, a, b)
    if len({s['desc']['unit'] for s in q.model.matching(
            query, ('flow', 'stock'))}) > 1:
        return
    reverse = q.rng.random() < 0.2
    d = q.json('flamegraph.json', query=text, max_nodes=-1,
               **({'reverse': 1} if reverse else {}), **q.times(a, b),
               **shape)
    stacks = truth.shaped(p.stacks, **shape)
    total = compare_head(d['memlens'], p, stacks)
    if not total:
        return
    # what is left of means is a sum of rounded ones
    slack = slack_of(p, 40 if reverse or shape else 1)
    same(d['flamebearer']['numTicks'], total, 'numTicks', slack)
    reader = samples_reader(d['memlens'])
    must(reader or p.unit != 'nanoseconds' or not p.counted,
         'no samples beside time')
    compare_tree(bearer_tree(d['flamebearer'], reader),
                 truth.tree(stacks, reverse), slack, reader)


def pruned(q):
    query, text = q.selector()
    a, b = q.range()
    p = q.profile(query, text, a, b)
    d = q.json('flamegraph.json', query=text, max_nodes=q.rng.choice(
        [1, 5, 20, 60]), **q.times(a, b))
    if not p.total:
        return
    same(d['flamebearer']['numTicks'], p.total, 'numTicks', slack_of(p))
    got, want = bearer_tree(d['flamebearer']), truth.tree(p.stacks)
    for path, (own, total, *_) in got.items():
        if '(other)' not in path:
            same(total, want[path][1], f'total of {path}', slack_of(p))
            same(own, want[path][0], f'self of {path}', slack_of(p))
    same(sum(v[0] for v in got.values()), d['flamebearer']['numTicks'],
         'the selfs', 0)


def partition(q):
    """Borders within slots: parts add up to the whole."""
    query, text = q.selector()
    lo, hi = q.first * q.slot_s * 1000, q.last * q.slot_s * 1000
    cuts = sorted(q.rng.sample(range(lo, hi), q.rng.choice([3, 4])))
    trees = []
    for x, y in [*zip(cuts, cuts[1:]), (cuts[0], cuts[-1])]:
        d = q.json('flamegraph.json', query=text, max_nodes=-1,
                   **{'from': x, 'until': y})
        if d['memlens']['kind'] != 'flow':
            return
        trees.append(bearer_tree(d['flamebearer']))
    whole = trees.pop()
    parts = collections.defaultdict(int)
    for tree in trees:
        for path, v in tree.items():
            parts[path] += v[1]
    for path in set(parts) | set(whole):
        same(parts[path], whole.get(path, [0, 0])[1],
             f'the parts {cuts} of {path}')


def compare_rows(rows, want, p, what):
    got = {}
    for r in rows:
        row = got.setdefault(r['name'], [0] * 6)
        for i, k in enumerate(COLUMNS):
            row[i] += r.get(k) or 0
    n = 6 if p.unit == 'nanoseconds' and p.counted else 2
    for name in set(got) | set(want):
        for i in range(n):
            same(got.get(name, [0] * 6)[i], want.get(name, [0] * 6)[i],
                 f'{what}: column {i} of {name}', slack_of(p, 40))


def table(q):
    query, text = q.selector()
    a, b = q.range()
    shape = q.shape()
    p = q.profile(query, text, a, b)
    d = q.json('table.json', query=text, limit=100000, **q.times(a, b),
               **shape)
    stacks = truth.shaped(p.stacks, **shape)
    if compare_head(d, p, stacks):
        compare_rows(d['rows'], truth.table(stacks), p, 'table')


def sandwich(q):
    query, text = q.selector()
    a, b = q.range()
    p = q.profile(query, text, a, b)
    if not p.stacks:
        return
    name = q.rng.choice(sorted({n for path in p.stacks for _, n in path}))
    d = q.json('sandwich.json', query=text, function=name, max_nodes=-1,
               **q.times(a, b))
    row = truth.table(p.stacks)[name]
    same(d['function']['self'], row[0], 'self', slack_of(p, 40))
    same(d['function']['total'], row[1], 'total', slack_of(p, 40))
    for side, want in zip(('callers', 'callees'),
                          truth.sandwich(p.stacks, name)):
        nodes = {}
        for path, (amount, *_) in want.items():
            for depth in range(len(path) + 1):
                node = nodes.setdefault(path[:depth], [0] * 6)
                node[1] += amount
            node[0] += amount
        compare_tree(bearer_tree(d[side]['flamebearer']), nodes,
                     slack_of(p, 40), None)


def diff(q):
    query, text = q.selector()
    (a, b), (c, e) = q.range(), q.range()
    left, right = (q.profile(query, text, *r) for r in ((a, b), (c, e)))
    if not left.total or not right.total:
        return
    d = q.json('diff.json', query=text, limit=100000, max_nodes=-1,
               **q.times(a, b), from_b=c * q.slot_s, until_b=e * q.slot_s)
    slack = max(slack_of(left, 40), slack_of(right, 40))
    same(d['leftTicks'], left.total, 'leftTicks', slack)
    same(d['rightTicks'], right.total, 'rightTicks', slack)
    tables = [truth.table(p.stacks) for p in (left, right)]
    seen = set()
    for r in d['rows']:
        seen.add(r['name'])
        want = [t.get(r['name'], [0] * 6) for t in tables]
        for side in (0, 1):
            same(r['self'][side], want[side][0], 'self', slack)
            same(r['total'][side], want[side][1],
                 f'total of {r["name"]}', slack)
            if left.unit == 'nanoseconds' and left.counted and right.counted:
                same(r['total_samples'][side], want[side][3], 'samples')
        counts = [sum(w[k] for w in want) for k in (3, 5)]
        if r['samples'] is not None:
            must(r['few'] is (False if counts[0] >= 100 else None
                              if counts[1] else True), 'few', r['few'],
                 'of', counts)
    for name in set(tables[0]) | set(tables[1]):
        must(name in seen, 'no row of', name)


def folded(q):
    query, text = q.selector()
    a, b = q.range()
    shape = q.shape()
    p = q.profile(query, text, a, b)
    body = q.ask('/api/v1/flamegraph.folded', query=text, bare=1,
                 **q.times(a, b), **shape).decode()
    got = collections.Counter()
    for line in body.splitlines():
        stack, _, n = line.rpartition(' ')
        got[stack] += int(n)
    want = collections.Counter()
    for path, (amount, *_) in truth.shaped(p.stacks, **shape).items():
        want[';'.join(n.replace(';', ':') for _, n in path)] += amount
    for stack in set(got) | set(want):
        same(got[stack], want[stack], stack, slack_of(p))
    if p.slots:
        must(q.headers.get('memlens-unit') == p.unit, 'MemLens-Unit',
             q.headers.get('memlens-unit'), 'not', p.unit)


def compare_pprof(body, p, what):
    d = pprof.read(body)
    wanted = {}
    for path, v in p.stacks.items():
        have = wanted.setdefault(tuple(n for _, n in reversed(path)),
                                 [0, 0])
        have[0] += v[0]
        have[1] += v[1]
    columns = [(i, 1 if unit == 'count' and p.unit == 'nanoseconds' else 0)
               for i, (_, unit) in enumerate(d.types)]
    for stack in set(d.stacks) | set(wanted):
        got = d.stacks.get(stack, [0] * len(d.types))
        want = wanted.get(stack, [0, 0])
        for i, k in columns:
            # a sample for each label set, each mean rounded by itself
            same(got[i], want[k], f'{what}: {d.types[i]} of {stack}',
                 slack_of(p, d.parts.get(stack, 1)))
    return d


def pprof_file(q):
    query, text = q.selector()
    a, b = q.range()
    p = q.profile(query, text, a, b)
    body = q.ask('/api/v1/flamegraph.pprof', query=text, **q.times(a, b))
    if p.total:
        d = compare_pprof(body, p, 'pprof')
        if p.unit == 'nanoseconds' and p.counted:
            must(d.types[0] == ('samples', 'count') and
                 d.types[-1][1] == 'nanoseconds', 'types', d.types)


def render(q):
    query, text = q.selector()
    # without a service it is the name of an application in Pyroscope's words
    if 'service' not in text:
        return
    a, b = q.range()
    p = q.profile(query, text, a, b)
    if not p.total:
        return
    d = json.loads(q.ask('/render', query=text, format='json',
                         max_nodes=-1, **q.times(a, b)))
    same(d['flamebearer']['numTicks'], p.total, 'numTicks', slack_of(p))
    if p.unit == 'nanoseconds':
        same(d['metadata']['sampleRate'], 1000000000, 'sampleRate')
    compare_tree(bearer_tree(d['flamebearer']), truth.tree(p.stacks),
                 slack_of(p), None)


def connect_request(q):
    query, text = q.selector()
    inside = ','.join(f'{"service_name" if l == "service" else l}{op}"{v}"'
                      for l, op, v in query['match'])
    a, b = q.range()
    return query, text, a, b, {
        'profileTypeID': PROFILES[query['name']],
        'labelSelector': '{' + inside + '}',
        'start': a * q.slot_s * 1000, 'end': b * q.slot_s * 1000}


def connect(q):
    query, text, a, b, body = connect_request(q)
    p = q.profile(query, text, a, b)
    if not p.total:
        return
    page = '/querier.v1.QuerierService/'
    if q.rng.random() < 0.5:
        d = json.loads(q.ask(page + 'SelectMergeStacktraces',
                             body=json.dumps({**body, 'maxNodes': -1})
                             .encode(), kind='application/json'))
        f = d['flamegraph']
        same(int(f['total']), p.total, 'total', slack_of(p))
        levels = [[int(v) for v in l['values']] for l in f['levels']]
        compare_tree(bearer_tree({'levels': levels, 'names': f['names']}),
                     truth.tree(p.stacks), slack_of(p), None)
    else:
        d = json.loads(q.ask(page + 'SelectSeries', body=json.dumps(
            {**body, 'step': 100000000}).encode(),
            kind='application/json'))
        got = sum(pt['value'] for s in d.get('series', [])
                  for pt in s['points'])
        p = q.model.profile(query, *q.covered_steps(a, b))
        same(got, p.total, 'SelectSeries', slack_of(p))


def metric_query(q, name):
    rng = q.rng
    match = rng.choice([[], [('service', '=', rng.choice(q.services))],
                        [('instance', '=', '2')]])
    inside = ','.join(f'{l}{op}"{v}"' for l, op, v in match)
    return {'name': name, 'match': match}, f'{name}{{{inside}}}'


def steps(q):
    a, b = q.range()
    step = q.rng.choice([1, 2, 7, 30, 64, 100])
    return a, b, max(step, -(-(b - a) // 900))


def compare_lines(q, d, query, kinds, point):
    """Every series of an answer, at every step that it says it has."""
    a, b, step = (int(d[k]) // q.slot_s for k in ('from', 'until', 'step'))
    must(d['partial'] == [], 'partial', d['partial'])
    want = {tuple(sorted(s['desc']['labels'].items())): s
            for s in q.model.matching(query, kinds)
            if q.model.metric(s, a, b)}
    got = {tuple(sorted(s['labels'].items())): s for s in d['series']}
    # series of files whose part of the range is empty may be there
    for key in set(want) - set(got):
        must(False, 'no series', key)
    for key, s in got.items():
        for i, row in enumerate(s['points']):
            x = a + i * step
            same(row[0], x * q.slot_s, 'time')
            y = min(x + step, b)
            blocks = [v for _, v in q.model.metric(want[key], x, y)] \
                if key in want else []
            point(s, row, blocks, want.get(key), x, y)
        must(len(s['points']) == -(-(b - a) // step), 'points',
             len(s['points']))


def near(got, want, what):
    if want is None or got is None:
        must(got is want, what, 'is', got, 'not', want)
    else:
        must(abs(got - want) <= 1e-9 * max(1, abs(want)), what, 'is', got,
             'not', want)


def gauges(q):
    query, text = metric_query(q, 'w_gauge')
    a, b, step = steps(q)
    fn = q.rng.choice(['mean', 'min', 'max', 'last'])
    d = q.json('series', query=text, fn=fn, step=step * q.slot_s,
               **q.times(a, b))

    def point(s, row, blocks, _, x, y):
        want = None
        if blocks:
            want = {'mean': lambda: sum(v['sum'] for v in blocks) /
                    sum(v['count'] for v in blocks),
                    'min': lambda: min(v['min'] for v in blocks),
                    'max': lambda: max(v['max'] for v in blocks),
                    'last': lambda: blocks[-1]['last']}[fn]()
        near(row[1], want, f'{fn} at {x}')
    compare_lines(q, d, query, ('gauge',), point)


def counters(q):
    query, text = metric_query(q, 'w_total')
    a, b, step = steps(q)
    fn = q.rng.choice(['rate', 'increase', 'last'])
    d = q.json('series', query=text, fn=fn, step=step * q.slot_s,
               **q.times(a, b))

    def point(s, row, blocks, series, x, y):
        want = None
        if blocks:
            up = sum(v['increase'] for v in blocks) / 1000
            seconds = len(q.model.metric(series, x, y)) * q.slot_s
            want = {'increase': up, 'rate': up / seconds,
                    'last': blocks[-1]['last'] / 1000}[fn]
        near(row[1], want, f'{fn} at {x}')
    compare_lines(q, d, query, ('counter',), point)


def percentiles(q):
    query, text = metric_query(q, 'w_seconds')
    query['match'] = [m for m in query['match'] if m[0] != 'instance']
    text = 'w_seconds{' + ','.join(f'{l}{op}"{v}"' for l, op, v
                                   in query['match']) + '}'
    a, b, step = steps(q)
    d = q.json('percentiles', query=text, step=step * q.slot_s,
               **q.times(a, b))
    at = {c: i for i, c in enumerate(d['columns'])}

    def point(s, row, blocks, series, x, y):
        if not blocks:
            same(row[at['count']], 0, 'count')
            must(row[at['p50']] is None, 'p50 without data')
            return
        counts, found = q.model.histogram(series, x, y)
        n = sum(counts.values())
        same(row[at['count']], n, 'count')
        near(row[at['max']], max(v['max'] for v in found) / 1e9, 'max')
        near(row[at['mean']], sum(v['sum'] for v in found) / n / 1e9, 'mean')
        for name, share in (('p50', .5), ('p90', .9), ('p95', .95),
                            ('p99', .99), ('p99.9', .999)):
            low, high = truth.bounds(truth.quantile(counts, share))
            low = max(low, min(v['min'] for v in found))
            must(low / 1e9 * (1 - 1e-6) <= row[at[name]] <=
                 high / 1e9 * (1 + 1e-6), name, row[at[name]],
                 'is not within', low, high)
    compare_lines(q, d, query, ('histogram',), point)


def damaged(q):
    """Between all that there was and that without what is lacking."""
    query, text = q.selector()
    a, b = q.range()
    p = q.model.profile(query, a, b)
    if p.kind != 'flow':
        return
    page = q.rng.choice(['flamegraph.json', 'table.json'])
    d = q.json(page, query=text, **q.times(a, b))
    d = d.get('memlens', d)
    sure = p.total
    for x, y in merged(q, d['partial'], a, b):
        sure -= q.model.profile(query, x, y).total
    must(sure <= d['total'] <= p.total, 'total', d['total'],
         'is not between', sure, 'and', p.total)
    must((d['state'] == 'partial') == (d['partial'] != []), 'state',
         d['state'], 'and partial', d['partial'])
    said = q.rng.choice(['flamegraph.svg', 'flamegraph.folded', 'table.csv',
                         'flamegraph.pprof', 'flamegraph.speedscope.json'])
    q.ask('/api/v1/' + said, query=text, **q.times(a, b))
    must(('memlens-partial' in q.headers) == (d['partial'] != []), said,
         'says', q.headers.get('memlens-partial'), 'of', d['partial'])
    strict(q, page, d['partial'], p.total, query=text, **q.times(a, b))


def strict(q, page, partial, total, **params):
    """None, or a whole one: a worker that has given memory back tries a
    damaged file anew, whose other parts may be all that this question needs.
    """
    said = q.ask('/api/v1/' + page, (200, 503) if partial else 200, strict=1,
                 **params)
    if q.status == 200:
        d = json.loads(said)
        d = d.get('memlens', d)
        must(d['partial'] == [] and d['total'] == total, 'strict: total',
             d['total'], 'of', total, 'with', d['partial'])


def merged(q, partial, a, b):
    """What is lacking of [a, b), in slots, nothing twice."""
    out = []
    for x, y in sorted((int(p['from'] // q.slot_s), int(-(-p['until'] //
                        q.slot_s))) for p in partial):
        x, y = max(x, a, out[-1][1] if out else a), min(y, b)
        if x < y:
            out.append((x, y))
    return out


ALWAYS = [(flamegraph, 5), (pruned, 2), (table, 3), (sandwich, 2), (diff, 2),
          (folded, 2), (pprof_file, 2), (render, 2), (connect, 3),
          (gauges, 2), (counters, 2), (percentiles, 2)]
MODES = {'whole': ALWAYS + [(partition, 2)], 'retained': ALWAYS,
         'damaged': [(damaged, 1)]}


def main(export, path, questions='1000', seed='1', mode='whole'):
    q = Asker(export, path, int(seed), mode)
    kinds = [k for k, n in MODES[mode] for _ in range(n)]
    wrong = collections.Counter()
    asked = collections.Counter()
    for _ in range(int(questions)):
        kind = q.rng.choice(kinds)
        asked[kind.__name__] += 1
        try:
            kind(q)
        except (Wrong, KeyError, TypeError, ValueError) as e:
            wrong[kind.__name__] += 1
            if wrong[kind.__name__] <= 3:
                print(f'# {kind.__name__}: {type(e).__name__} {str(e)[:400]}\n'
                      f'#   {q.uri}')
    for name, n in sorted(asked.items()):
        print(f'# {name}: {n} questions, {wrong[name]} wrong')
    print(f'{sum(asked.values())} questions, {sum(wrong.values())} wrong')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
