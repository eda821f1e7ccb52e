"""What the offline demo must say: of exported batches (Store), or of the
recording itself, slot by slot and by the plainest arithmetic (Metrics)."""
import re

import model as truth
from recording import SLOT_S, selector

LOST, BROKEN = 'samples_lost_total', 'stacks_broken_total'


class Store:
    """Profiles of the store that a recording was made of."""
    def __init__(self, export):
        self.model = truth.Model()
        self.model.load(export)

    def profile(self, query, a, b):
        p = self.model.profile(selector(query), a, b)
        p.unit = p.unit or 'nanoseconds'
        # pushed in nanoseconds alone: of so many samples, nobody knows
        p.slots = len({slot for s in self.flows(query)
                       for slot in s['lines']['seen'].inside(a, b)})
        p.periods = {s['desc']['period'] for s in self.flows(query)
                     if any(line.sum(a, b) for key, line in
                            s['lines'].items() if key != 'seen')}
        p.known = not any(v[2] for v in p.stacks.values())
        p.partial, p.none = [], ('no data', '')
        p.faults = self.faults(selector(query), a, b)
        return p

    def flows(self, query):
        return self.model.matching(selector(query), ('flow',))

    def increase(self, name, a, b, accepts):
        """{reason: sum}, None where there is no block at all."""
        out, some = {}, False
        for s in self.model.series.values():
            d = s['desc']
            if d['name'] != name or not accepts(d['labels']):
                continue
            for v in blocks(s, a, b):
                some = True
                why = d['labels'].get('reason')
                out[why] = out.get(why, 0) + v['increase']
        return out if some else None

    def faults(self, query, a, b):
        """None where files, not batches, decide whose they are."""
        match = [m for m in query['match'] if m[0] == 'service']

        def of_service(labels):
            return all(truth.accepts(labels.get(l, ''), op, v)
                       for l, op, v in match)
        own = bool(match) and self.increase('memlens_service_samples_total',
                                            a, b, of_service) is not None
        if match and not own:
            return None
        parts = [('lost', f'memlens_profile_{LOST}', lambda _: True)]
        if own:
            parts += [('lost', f'memlens_service_{LOST}', of_service),
                      ('broken', f'memlens_service_{BROKEN}', of_service)]
        else:
            parts += [('broken', f'memlens_profile_{BROKEN}', lambda _: True)]
        out = {}
        for kind, name, accepts in parts:
            for why, n in (self.increase(name, a, b, accepts) or {}).items():
                if n and not (own and name.startswith('memlens_profile') and
                              why in ('held full', 'aggregate full')):
                    out[kind, why] = out.get((kind, why), 0) + n
        return out


def blocks(s, a, b):
    """The values of a metric in slots [a, b), in order."""
    have = s.get('blocks', {})
    return [v for slot in range(a, b) for v in have.get(slot, ())]


class Metrics:
    """Series by what was recorded of them (recording.py), and what they say
    of exported batches or, without, of the recording's slots."""
    def __init__(self, model, recording):
        self.model, self.recording = model, recording
        self.window = recording.first, recording.until
        self.offered = {s['name'] for s in
                        recording.answers['services']['services']}

    # ---- which lines ----

    def key(self, query, fn):
        return 'series?' + (f'fn={fn}&' if fn else '') + f'query={query}'

    def lines(self, query, fn, a, b, step):
        """{(name, labels...): [value a step]} of one question."""
        if self.model:
            return {key: [of_blocks(s, fn or default(s), x,
                                    min(x + step, b))
                          for x in range(a, b, step)]
                    for key, s in self.stored(query)}
        return {key: [of_slots(r, s, x, min(x + step, b))
                      for x in range(a, b, step)]
                for key, r, s in self.recorded(self.key(query, fn))}

    def recorded(self, key):
        r = self.recording.series[key]
        for s in r['series']:
            yield (s['name'], *sorted(s['labels'].items())), r, s

    def stored(self, query):
        q = selector(query)
        match = ([('__name__', '=', q['name'])] if q['name'] else []) + \
            q['match']
        for s in self.model.series.values():
            d = s['desc']
            labels = {'__name__': d['name'], **d['labels']}
            if d['kind'] in ('gauge', 'counter') and all(
                    truth.accepts(labels.get(l, ''), op, v)
                    for l, op, v in match) and self.is_recorded(q, d) and \
                    blocks(s, *self.window):
                yield (d['name'], *sorted(d['labels'].items())), s

    def is_recorded(self, query, d):
        """Of a question about all services, those of the recording."""
        whose = d['labels'].get('service', d['labels'].get('groupname'))
        return whose is None or whose in self.offered

    # ---- what pages make of them ----

    def buckets(self, service, a, b, step):
        """{(histogram, label): [(border, [count a step])]}"""
        out = {}
        query = f'{{__name__=~".+_seconds_bucket",service="{service}"}}'
        for key, values in self.lines(query, 'increase', a, b,
                                      step).items():
            labels = dict(key[1:])
            # as the page names it: every label but these
            name = ' '.join(v for l, v in labels.items()
                            if l not in ('le', 'service', 'instance'))
            line = out.setdefault((key[0].replace('_bucket', ''),
                                   name or 'all'), [])
            line.append((float(labels['le'].replace('+Inf', 'inf')), values))
        for line in out.values():
            line.sort()
            for _, values in line:  # where all is, and this is not: 0
                for i, v in enumerate(values):
                    if v is None and line[-1][1][i] is not None:
                        values[i] = 0
        return out

    def compared(self, a, b):
        """{key: (fn, [value of A, of B])} of each metric recorded."""
        out, seen = {}, set()
        keys = sorted(self.recording.series, key=lambda k: 'fn=last' in k)
        for key in keys:
            for id_, r, s in self.recorded(key):
                if id_ in seen:
                    continue
                seen.add(id_)
                fn = 'rate' if s['fn'] == 'increase' else s['fn']
                values = [self.one(key, id_, r, s, fn, *x) for x in (a, b)]
                if values != [None, None]:
                    out[id_] = fn, values
        return out

    def one(self, key, id_, r, s, fn, a, b):
        if self.model:
            for other, found in self.stored(s['name']):
                if other == id_:
                    return of_blocks(found, fn, a, b)
        v = of_slots(r, s, a, b, fn)
        return v / SLOT_S if v is not None and s['fn'] == 'increase' else v

    def busyness(self, a, b, step):
        """Mean of the steps' sums, by service."""
        sums = {}
        for key, values in self.lines(
                'namedprocess_namegroup_cpu_seconds_total', 'rate', a, b,
                step).items():
            mine = sums.setdefault(dict(key[1:])['groupname'],
                                   [None] * len(values))
            for i, v in enumerate(values):
                if v is not None:
                    mine[i] = (mine[i] or 0) + v
        return {name: mean([v for v in values if v is not None])
                for name, values in sums.items()
                if any(v is not None for v in values)}


def mean(list_):
    return sum(list_) / len(list_)


def default(s):
    return 'rate' if s['desc']['kind'] == 'counter' else 'mean'


def of_blocks(s, fn, a, b):
    """What exported slots [a, b) say; None without any."""
    found, unit = blocks(s, a, b), 10 ** s['desc']['scale']
    if not found:
        return None
    if s['desc']['kind'] == 'counter':
        up = sum(v['increase'] for v in found)
        value = {'increase': up, 'rate': up / (len(found) * SLOT_S),
                 'last': found[-1]['last']}[fn]
    else:
        value = {'mean': sum(v['sum'] for v in found) /
                 sum(v['count'] for v in found),
                 'last': found[-1]['last'],
                 'min': min(v['min'] for v in found),
                 'max': max(v['max'] for v in found)}[fn]
    return value / unit


def of_slots(r, s, a, b, fn=''):
    """What recorded slots [a, b) say; None without any."""
    first, n = r['from'] // SLOT_S, s.get('n')
    known = [(s['v'][i], n[i] if n else 1)
             for i in range(max(a - first, 0), min(b - first, len(s['v'])))
             if s['v'][i] is not None]
    if not known:
        return None
    fn, values = fn or s['fn'], [v for v, _ in known]
    if fn == 'mean':
        return sum(v * n for v, n in known) / sum(n for _, n in known)
    return {'increase': sum, 'rate': mean, 'last': lambda v: v[-1],
            'min': min, 'max': max}[fn](values)
