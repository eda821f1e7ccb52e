"""A recording for the offline demo (frontend/js/data/recorded-profiles.js and
recorded-series.js describe it), decoded without any script of the pages.

    r = recording.Recording('snapshot.js')
    p = r.profile('cpu{service="s1"}', a, b)    of its slots a to b
    r.series[key]                               as it stands there
"""
import json
import re

import model as truth

SLOT_S = 10


class Recording:
    def __init__(self, path):
        with open(path, encoding='utf-8') as f:
            text = f.read()
        d = json.loads(text[text.index('\n{') + 1:text.rindex('}') + 1])
        self.first, self.until = d['from'] // SLOT_S, d['until'] // SLOT_S
        self.answers, self.series = d['answers'], d['series']
        self.better = d.get('better', {})
        self.profiles = d['profiles']
        self.paths = self.tree()
        self.queries = list(self.profiles['of'])

    def tree(self):
        """By node: ((kind, name), ...) from the root."""
        p, out = self.profiles, [()]
        for i in range(1, len(p['tree']) // 2):
            up, name = p['tree'][2 * i:2 * i + 2]
            out.append(out[i - up] + ((p['kinds'][name], p['names'][name]),))
        return out

    def profile(self, query, a, b):
        q, p = self.profiles['of'][query], truth.Profile()
        p.unit = q['about'].get('unit', '')
        p.kind = q['about'].get('kind', 'flow')
        p.known, p.none = True, ('no data', '')
        first = self.profiles['from'] // SLOT_S
        slots = q['slots'][max(a - first, 0):max(b - first, 0)]
        p.partial = stretches([x for slot in slots if slot
                               for x in slot.get('partial', [])])
        p.faults = self.faults([slot for slot in slots if slot])
        for slot in slots:
            if slot and 'nodes' in slot:
                p.slots += 1
                self.add(p, slot)
            else:
                p.none = ((slot or {}).get('state', 'no data'),
                          (slot or {}).get('why', ''))
        if q['about'].get('kind') == 'stock' and p.slots > 1:
            for have in p.stacks.values():  # means, as whole numbers
                have[:] = [n // p.slots for n in have]
        return p

    @staticmethod
    def faults(slots):
        """The service's own where there are any, else the host's."""
        own, out = any('host' not in s for s in slots), {}
        for slot in slots:
            for kind in ('lost', 'broken'):
                for why, n in slot.get(kind, {}).items():
                    if not (own and 'host' in slot) or (
                            kind == 'lost' and why not in (
                                'held full', 'aggregate full')):
                        out[kind, why] = out.get((kind, why), 0) + n
        return out

    def add(self, p, slot):
        period, at, node = slot.get('period'), 0, 0
        if slot['nodes']:
            p.periods.add(period or 0)
        while at < len(slot['nodes']):
            node += slot['nodes'][at]
            if period:
                n = slot['nodes'][at + 1]
                amount, at = n * period, at + 2
            else:
                amount, n = slot['nodes'][at + 1:at + 3]
                at += 3
            have = p.stacks.setdefault(self.paths[node], [0] * 3)
            have[0] += amount
            if n is None:
                p.known = False
                have[2] += amount
            else:
                have[1] += n


def stretches(list_):
    """Of damage: what touches is one."""
    out = []
    for x in sorted(list_, key=lambda x: (x['why'], x['from'])):
        if out and out[-1]['why'] == x['why'] and \
                x['from'] <= out[-1]['until']:
            out[-1]['until'] = max(out[-1]['until'], x['until'])
        else:
            out.append(dict(x))
    return sorted(out, key=lambda x: x['from'])


def selector(text):
    """'cpu{service="s1",mode=~"a|b"}' as model.py wants it."""
    name, _, inside = text.partition('{')
    match = [(l, op, v.replace('\\"', '"').replace('\\n', '\n')
              .replace('\\\\', '\\')) for l, op, v in re.findall(
                  r'(\w+)(=~|!~|!=|=)"((?:[^"\\]|\\.)*)"', inside)]
    return {'name': name, 'match': match}
