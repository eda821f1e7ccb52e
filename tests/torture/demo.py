#!/usr/bin/env python3
"""Asks the offline demo through the pages' own scripts (demo.mjs), and
recomputes each answer.

    demo.py RECORDING QUESTIONS [EXPORT [URL [SEED]]]

Without EXPORT, from the recording itself, by a decoder of our own
(recording.py).  With EXPORT, from the exported batches of the store that it
was recorded from (model.py); then the pages that are live on that store, at
URL, must answer the same.  With EXPORT and no URL the store was damaged
after the export: what a recording lacks, its answers say.

QUESTIONS are spread over ranges of whole slots; "all" asks every kind of
question about every range.  Ends with a line "N questions, N wrong"; the
status is 0 when none is.
"""
import collections
import itertools
import json
import random
import subprocess
import sys
import os

import model as truth
import recording
from check import Wrong, must
from demo_truth import Metrics, Store

HERE = os.path.dirname(os.path.abspath(__file__))
SLOT_S = recording.SLOT_S
FEW = 100


def same(got, want, what):
    must(got == want, what, 'is', got, 'not', want)


def near(got, want, what, part=1e-9):
    if want is None or got is None:
        must(got is want, what, 'is', got, 'not', want)
    else:
        must(abs(got - want) <= part * max(1, abs(want)), what, 'is', got,
             'not', want)


class Page:
    """The pages' scripts: offline on a recording, or live."""
    def __init__(self, source):
        self.node = subprocess.Popen(
            ['node', os.path.join(HERE, 'demo.mjs'), source],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, ask, **params):
        self.node.stdin.write(json.dumps({'ask': ask, **params}).encode() +
                              b'\n')
        self.node.stdin.flush()
        line = self.node.stdout.readline()
        must(line, 'the page has died of', ask, params)
        return json.loads(line)


class Demo:
    def __init__(self, path, export, url, seed):
        self.rng = random.Random(seed)
        self.page, self.live = Page(path), url and Page(url)
        self.recording = recording.Recording(path)
        store = Store(export) if export else None
        self.merged = bool(export and url)  # the store's own are the truth
        self.truth = store if self.merged else self.recording
        self.before = None if self.merged else store
        self.metrics = Metrics(self.merged and store.model, self.recording)
        self.first, self.until = self.recording.first, self.recording.until
        self.services = [s['name'] for s in
                         self.recording.answers['services']['services']]
        self.asked = {}

    def ask(self, what, **params):
        params = {k.replace('_', '-'): v for k, v in params.items()
                  if v != ''}
        self.asked = {'ask': what, **params}
        got = self.page.ask(what, **params)
        must('refused' not in got, got)
        if self.live:
            self.compare_live(what, params, got)
        return got

    def compare_live(self, what, params, got):
        if what not in LIVE:
            return
        if what != 'series':
            params = {**params, 'max-nodes': -1, 'limit': 5000}
        want = self.live.ask(what, **params)
        must('refused' not in want, 'live', want)
        g, w = (comparable(what, x, got, want) for x in (got, want))
        for key in LIVE[what]:
            alike(g.get(key), w.get(key), f'{key} (not as live)')

    def times(self, a, b):
        return {'from': a * SLOT_S, 'until': b * SLOT_S}

    def names(self, p):
        """A function that has data, sometimes one that has none."""
        all_ = sorted({n for path in p.stacks for _, n in path})
        return self.rng.choice(all_ + ['nobody'])


# What live and offline must say alike, by ask.  Not slots: live they are
# those of the source that has most, offline those that have any.
ABOUT = ['from', 'until', 'state', 'why', 'samples', 'total',
         'total_samples', 'lost', 'broken', 'faults', 'unit', 'kind',
         'partial']
LIVE = {'flame': ['about', 'ticks'], 'series': ['step', 'state', 'partial'],
        'table': ['about', 'functions', 'matched', 'over', 'rows'],
        'sandwich': ['about', 'function'],
        'diff': ['a', 'b', 'left', 'right', 'matched', 'functions', 'rows']}


# Where some samples are not counted, live tells those that are, a recording
# none.
COUNTS = {'samples', 'total_samples', 'self_samples', 'samples_unknown',
          'total_unknown', 'self_unknown'}
COLUMNS = {'table': [4, 5], 'diff': [6, 7, 8, 9, 12]}
MOVED = [10, 11]


def comparable(what, answer, *both):
    """The part of an answer of which live and offline must be alike."""
    sides = [x[k] for x in both for k in ('about', 'a', 'b') if k in x]
    unknown = any(s.get('samples_unknown') or s['slots'] and
                  s['total_samples'] is None for s in sides
                  if isinstance(s, dict) and 'slots' in s)
    drop = set(COLUMNS.get(what, []) if unknown else [])
    if what == 'diff' and any(both[0][s]['slots'] != both[1][s]['slots']
                              for s in 'ab'):
        drop |= set(MOVED)  # per second of another time
    out = dict(answer)
    for key in ('about', 'a', 'b', 'matched', 'function'):
        if isinstance(out.get(key), dict):
            out[key] = told(out[key], key, unknown)
    out['rows'] = sorted(([v for i, v in enumerate(r) if i not in drop]
                          for r in answer.get('rows', [])),
                         key=lambda r: r[:2])
    return out


def told(answer, key, unknown):
    """A side of a pair says its samples before focus, and 0 of them without
    data."""
    leave = set(COUNTS) if unknown else {'samples_unknown', 'total_unknown',
                                         'self_unknown'}
    if key in ('a', 'b'):
        leave |= {'samples'} | ({'total_samples'} if not answer['total']
                                else set())
    if key in ('about', 'a', 'b'):
        leave |= set(answer) - set(ABOUT)
        if not answer['total']:
            leave |= {'unit', 'kind'}
    return {k: v for k, v in answer.items() if k not in leave}


def alike(got, want, what):
    """Equal but for the last of nine digits of what is no whole number."""
    if isinstance(want, dict) and isinstance(got, dict):
        for k in set(got) | set(want):
            alike(got.get(k), want.get(k), f'{what}.{k}')
    elif isinstance(want, list) and isinstance(got, list):
        must(len(got) == len(want), what, 'has', len(got), 'not', len(want))
        for i, (g, w) in enumerate(zip(got, want)):
            alike(g, w, f'{what}[{i}]')
    elif isinstance(want, float) or isinstance(got, float):
        near(got, want, what, 1e-8)
    else:
        same(got, want, what)


# ---- profiles ----

def check_damage(q, m, a, b):
    """Between all that there was and that without what is lacking."""
    if not q.before:
        return
    whole = q.before.profile(m['query'], a, b).total
    sure = whole - sum(q.before.profile(
        m['query'], int(x['from'] // SLOT_S), int(-(-x['until'] // SLOT_S))
        ).total for x in m['partial'])
    must(sure <= m['total'] <= whole, 'total', m['total'],
         'is not between', sure, 'and', whole)


def check_about(q, m, p, a, b, stacks):
    check_damage(q, m, a, b)
    alike({k: m.get(k) for k in ('from', 'until')}, q.times(a, b), 'range')
    same(m['slots'], p.slots, 'slots')
    same(m['total'], p.total, 'total')
    for key, of in (('samples', stacks), ('total_samples', p.stacks)):
        same(m[key], sum(v[1] for v in of.values())
             if p.known and p.slots else None, key)
    same(m['partial'], p.partial, 'partial')
    state = ('partial' if p.partial else p.none[0] if not p.slots
             else 'data' if p.total else 'zero')
    same(m['state'], state, 'state')
    if p.total:
        one = p.known and len(p.periods) == 1 and max(p.periods) > 1
        same(m['period'], max(p.periods) if one else None, 'period')
        same(m['unit'], p.unit, 'unit')
    if p.faults is not None:
        got = {(kind, why): n for kind in ('lost', 'broken')
               for why, n in m[kind].items()}
        same(got, p.faults, 'faults')


def tree_of(answer, known):
    """{path of names: [self, total, self samples, samples]} of frames."""
    paths, out = [], {}
    for i, (name, up, *v) in enumerate(answer['numbers']):
        must(i == 0 or 0 <= up < i, 'a frame without a caller')
        paths.append(() if i == 0 else
                     paths[up] + (answer['names'][name],))
        node = out.setdefault(paths[i], [0] * len(v))
        for k, n in enumerate(v):
            if not known and k >= 2 and v[k - 2]:
                same(n, None, 'samples that nobody knows')
            node[k] += n or 0
    return out


def compare_trees(got, want, columns):
    empty = [0] * columns
    for path in set(got) | set(want):
        same(got.get(path, empty)[:columns], want.get(path, empty)[:columns],
             ';'.join(path) or 'the root')


def columns(p):
    return 4 if p.known else 2


def flame(q, query, a, b):
    shape = q.rng.choice(SHAPES)
    reverse = '1' if q.rng.random() < 0.2 else ''
    p = q.truth.profile(query, a, b)
    d = q.ask('flame', query=query, reverse=reverse, **shape,
              **q.times(a, b))
    stacks = truth.shaped(p.stacks, **shape)
    check_about(q, d['about'], p, a, b, stacks)
    same(d['ticks'], sum(v[0] for v in stacks.values()), 'ticks')
    compare_trees(tree_of(d, p.known), truth.tree(stacks, reverse),
                  columns(p))


SHAPES = [{}, {}, {'focus': '^read$'}, {'ignore': 'a|lock'},
          {'focus': 'e', 'ignore': '^[a-k]'}]


CODE = {'user': 'u', 'library': 'l', 'kernel': 'k', 'jit': 'j',
        'unknown': '?', 1: 'u', 3: 'k'}


def functions(stacks, merged):
    """truth.table by (kind of code, name); merged: of a program's functions
    and a library's alike, as a store has them."""
    def function(kind, name):
        code = CODE.get(kind, kind)
        return 'u' if merged and code == 'l' else code, name
    return truth.table({tuple((None, function(*f)) for f in path): v
                        for path, v in stacks.items()})


def rows_of(q, rows, width):
    """Those of a page by (kind of code, name); null is 0 here."""
    out = {}
    for name, kind, *v in rows:
        code = CODE[kind]
        key = 'u' if q.merged and code == 'l' else code, name
        must(key not in out, 'twice', key)
        out[key] = [n or 0 for n in v[:width]]
    return out


def table(q, query, a, b):
    shape = q.rng.choice(SHAPES)
    search = q.rng.choice(['', '', 'E', '/^m|k$/'])
    p = q.truth.profile(query, a, b)
    name = q.names(p)
    d = q.ask('table', query=query, search=search, limit=300, function=name,
              **shape, **q.times(a, b))
    stacks = truth.shaped(p.stacks, **shape)
    check_about(q, d['about'], p, a, b, stacks)
    want, hit = functions(stacks, q.merged), searched(search)
    rows = {f: v for f, v in want.items() if hit(f[1])}
    whole = sum(v[0] for v in stacks.values())
    for n, _, own, total, _, _, *shares in d['rows']:
        for got, v in zip(shares, (own, total)):
            near(got, v / whole if whole else None, f'share of {n}')
    got = rows_of(q, d['rows'], columns(p))
    same(d['functions'], len(rows), 'functions')
    same(len(got), min(len(rows), 300), 'rows')
    for f, v in got.items():
        same(v, want[f][:columns(p)], f)
    if search:
        found = [v for path, v in stacks.items()
                 if any(hit(n) for _, n in path)]
        same(d['matched']['amount'], sum(v[0] for v in found), 'matched')
    over_time(q, query, a, b, name, shape, d['over'])


def searched(text):
    if text.startswith('/'):
        return truth.re.compile(text.strip('/')).search
    return lambda name: text.lower() in name.lower()


def over_time(q, query, a, b, name, shape, over):
    wide = max(1, -(-(b - a) // 60))
    same(over['step'], wide * SLOT_S, 'step over time')
    same(len(over['points']), -(-(b - a) // wide), 'points over time')
    for k, (t, own, total) in enumerate(over['points']):
        x = a + k * wide
        p = q.truth.profile(query, x, min(x + wide, b))
        row = truth.table(truth.shaped(p.stacks, **shape)).get(name, [0] * 6)
        same([t, own, total], [x * SLOT_S, *(row[:2] if p.slots
                                             else (None, None))],
             f'{name} over time')


def sandwich(q, query, a, b):
    p = q.truth.profile(query, a, b)
    name = q.names(p)
    d = q.ask('sandwich', query=query, function=name, **q.times(a, b))
    check_about(q, d['about'], p, a, b, p.stacks)
    row = truth.table(p.stacks).get(name, [0] * 6)
    same([d['function']['self'], d['function']['total']], row[:2], name)
    for side, want in zip(('callers', 'callees'),
                          truth.sandwich(p.stacks, name)):
        nodes = {}
        for path, v in want.items():
            for depth in range(1, len(path) + 1):
                node = nodes.setdefault(path[1:depth], [0] * 6)
                truth.add(node, v, 1)
            truth.add(node, v, 0)
        compare_trees(tree_of(d[side], p.known), nodes, columns(p))


def diff(q, query, a, b):
    c, e = q.rng.choice(q.ranges)
    shape = q.rng.choice(SHAPES)
    how = q.rng.choice(['total', 'time'])
    sides = [q.truth.profile(query, *r) for r in ((a, b), (c, e))]
    d = q.ask('diff', query=query, from_b=c * SLOT_S, until_b=e * SLOT_S,
              normalise=how, **shape, **q.times(a, b))
    known = all(p.known for p in sides)
    stacks = [truth.shaped(p.stacks, **shape) for p in sides]
    for side, p, s, r in zip('ab', sides, stacks, ((a, b), (c, e))):
        check_about(q, d[side], p, *r, s)
        held = any(p.kind == 'stock' for p in sides)  # means, as they are
        by = (p.total if how == 'total' else p.slots > 0 if held
              else p.slots * SLOT_S)
        near(d[side]['divided_by'], by or None, 'divided by')
    same([d['left'], d['right']], [p.total for p in sides], 'both sides')
    diff_tree(d, stacks, [p.known for p in sides])
    diff_rows(q, d, stacks, known)


def diff_tree(d, stacks, known):
    trees = [truth.tree(s) for s in stacks]
    got = {}
    for path, v in diff_paths(d).items():
        got[path] = v
    for path in set(got) | set(trees[0]) | set(trees[1]):
        v = got.get(path, [0] * 6)
        for s in (0, 1):
            want = trees[s].get(path, [0] * 6)
            same(v[2 * s:2 * s + 2], want[:2], (path, 's of A or B'))
            if known[0] and known[1]:
                same(v[4 + s] or 0, want[3], ('samples of', path))


def diff_paths(d):
    paths, out = [], {}
    for i, (name, up, *v) in enumerate(d['numbers']):
        must(i == 0 or 0 <= up < i, 'a frame without a caller')
        paths.append(() if i == 0 else paths[up] + (d['names'][name],))
        node = out.setdefault(paths[i], [0] * 6)
        for k, n in enumerate(v):
            node[k] += n or 0
    return out


def diff_rows(q, d, stacks, known):
    tables = [functions(s, q.merged) for s in stacks]
    for name, _, *v in d['rows']:
        if known:
            same(v[10], v[6] + v[7] < FEW, f'few of {name}')
    got = rows_of(q, d['rows'], 8)
    same(set(got), set(tables[0]) | set(tables[1]), 'rows')
    for f, row in got.items():
        for s, t in enumerate(tables):
            want = t.get(f, [0] * 6)
            same([row[s], row[2 + s]], want[:2], f)
            if known:
                same([row[4 + s], row[6 + s]], want[2:4], ('samples of', f))


# ---- series ----

def series(q, _, a, b):
    asked = q.rng.choice(q.queries)
    step = q.rng.choice([1, 1, 2, 7, 30])
    d = q.ask('series', step=step * SLOT_S, **asked, **q.times(a, b))
    same(d['error'], None, 'error')
    same(d['step'], step * SLOT_S, 'step')
    want = q.metrics.lines(asked['query'], asked['fn'], a, b, step)
    got = {key_of(c): c for c in d['cols']}
    for key in set(got) | set(want):
        line = want.get(key)
        if line is None:  # known of other ranges
            must(all(v is None for v in got[key]['v']), 'invented', key)
            continue
        must(key in got or all(v is None for v in line), 'no line', key)
        if key not in got:
            continue
        same(got[key]['t'], [x * SLOT_S for x in range(a, b, step)], 'times')
        for x, g, w in zip(got[key]['t'], got[key]['v'], line):
            near(g, w, f'{key} at {x}')
    some = any(v is not None for line in want.values() for v in line)
    same(d['state'], 'data' if some else 'partial' if d['partial']
         else 'no data', 'state')


def key_of(col):
    return (col['name'], *sorted(col['labels'].items()))


def percentiles(q, query, a, b):
    service = q.rng.choice(q.services)
    share = q.rng.choice([0.5, 0.9, 0.99, 0.999])
    d = q.ask('operations', service=service, q=share, **q.times(a, b))
    step = d['step'] // SLOT_S
    same(step, max(1, -(-(b - a) // 90)), 'step')
    lines = q.metrics.buckets(service, a, b, step)
    for line in d['lines']:
        le = lines[line['name'], line['label']]
        for i, got in enumerate(line['percentile']['v']):
            near(got, quantile(share, [(x, v[i]) for x, v in le]),
                 f'percentile {share} of {line["label"]}')


def quantile(share, buckets):
    """Straight between two borders; cumulative counts by border."""
    n = buckets[-1][1]
    if not n:
        return None
    low = before = 0
    for border, count in buckets:
        count = count or 0
        if count >= share * n:
            if border == float('inf'):
                return low if len(buckets) > 1 else None
            return border if count == before else low + (border - low) * (
                share * n - before) / (count - before)
        low, before = border, count
    return None


def compare(q, _, a, b):
    c, e = q.rng.choice(q.ranges)
    d = q.ask('compare', from_b=c * SLOT_S, until_b=e * SLOT_S, limit=5000,
              show='all', **q.times(a, b))
    want = q.metrics.compared((a, b), (c, e))
    got = {key_of(r): r for r in d['rows']}
    for key, (fn, values) in want.items():
        if values[0] == values[1] and key not in got:
            continue
        must(key in got, 'no row of', key)
        same(got[key]['fn'], fn, f'fn of {key}')
        for i in (0, 1):
            near(got[key]['value'][i], values[i], f'{key} of {"AB"[i]}')
    same(set(got) - set(want), set(), 'rows of nothing')
    compare_as_live(q, got, want)


def compare_as_live(q, got, want):
    if not q.live:
        return
    live = q.live.ask(**q.asked)
    for row in live['rows']:
        key = key_of(row)
        if key in want and key in got:
            for k in ('unit', 'fn', 'better', 'verdict'):
                same(got[key][k], row[k], f'{k} of {key} (not as live)')


def services(q, _, a, b):
    d = q.ask('services', **q.times(a, b))
    same({s['name'] for s in d['ranked']}, set(q.services), 'services')
    cpu = q.metrics.busyness(a, b, max(1, -(-(b - a) // 20)))
    for s in d['ranked']:
        near(s['cpu'], cpu.get(s['name'], 0), f'CPU of {s["name"]}')


PROFILES = [flame, table, sandwich, diff]
OTHERS = [series, percentiles, compare, services]


def judged(q):
    """What a store's batches can judge: a recording keeps the samples of its
    first type alone, and of what is in use a mean for each slot."""
    first = q.recording.queries[0].partition('{')[0]
    return [x for x in q.recording.queries if q.truth is q.recording and
            not q.before or x.partition('{')[0] == first]


def questions(q, n):
    """(kind, query, range) of each."""
    queries = judged(q)
    if n == 'all':
        for a, b in q.ranges:
            for kind, query in itertools.product(PROFILES, queries):
                yield kind, query, (a, b)
            for kind in OTHERS + [series] * 4:
                yield kind, None, (a, b)
        return
    for _ in range(int(n)):
        yield (q.rng.choice(PROFILES * 2 + OTHERS + [series]),
               q.rng.choice(queries), q.rng.choice(q.ranges))


def main(path, n, export='', url='', seed='1'):
    q = Demo(path, export, url, int(seed))
    q.ranges = list(itertools.combinations(range(q.first, q.until + 1), 2))
    q.queries = q.page.ask('queries', services=q.services)
    same(set(q.page.ask('recording')['profiles']), set(q.recording.queries),
         'recorded profiles')
    asked, wrong = collections.Counter(), collections.Counter()
    for kind, query, (a, b) in questions(q, n):
        asked[kind.__name__] += 1
        try:
            kind(q, query, a, b)
        except (Wrong, KeyError, TypeError, ValueError, IndexError) as e:
            wrong[kind.__name__] += 1
            if wrong[kind.__name__] <= 3:
                print(f'# {kind.__name__}: {type(e).__name__} {str(e)[:400]}'
                      f'\n#   slots {a - q.first} to {b - q.first}: '
                      f'{json.dumps(q.asked)}')
    for name, count in sorted(asked.items()):
        print(f'# {name}: {count} questions, {wrong[name]} wrong')
    print(f'{sum(asked.values())} questions, {sum(wrong.values())} wrong')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
