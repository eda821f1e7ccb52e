"""What changed between two builds, from MemLens's JSON alone, beside what the
program has measured itself.

    python3 builds.py DIR    DIR/worker, and {until,says}_{1,2} of each build

Prints the sentences, a line "ok - " or "not ok - " for each number, and "row
NAME VALUE UNIT PROGRAM'S".
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../torture'))
import fcgi  # noqa: E402

FACTOR = 1.1  # between two edges of the program's histogram


class Build:
    def __init__(self, where, number):
        self.where, self.service = where, 'lsm_%d' % number
        self.n = number
        self.says = {}
        for line in self.text('says').splitlines():
            name, *values = line.split()
            self.says[name] = values
        self.range = 'from=%d&until=%s' % (int(self.says['began'][0]) - 1,
                                           self.text('until'))

    def text(self, name):
        with open('%s/%s_%d' % (self.where, name, self.n)) as f:
            return f.read().strip()

    def ask(self, page, **parameters):
        uri = page + '?' + self.range + ''.join(
            '&%s=%s' % p for p in parameters.items())
        for a, b in (('{', '%7B'), ('}', '%7D'), ('"', '%22')):
            uri = uri.replace(a, b)
        status, _, body = fcgi.ask(self.where + '/worker', 'GET', uri)
        if status != 200:
            sys.exit('%s: %d: %s' % (uri, status, body[:300]))
        return json.loads(body)

    def total(self, query, **more):
        return self.ask('/api/v1/flamegraph.json', query=query,
                        **more)['flamebearer']['numTicks']

    def share(self, function):
        """Of the CPU time, with the function anywhere in the stack."""
        rows = self.ask('/api/v1/table.json',
                        query='cpu{service="%s"}' % self.service)['rows']
        part = sum(r['total'] for r in rows if r['name'] == function)
        return part / max(self.total('cpu{service="%s"}' % self.service), 1)

    def increase(self, metric):
        """By labels, over the range."""
        out = {}
        for s in self.ask('/api/v1/series', query=metric, fn='increase',
                          step=100000)['series']:
            labels = dict(s['labels']) if isinstance(s['labels'], dict) \
                else {x['name']: x['value'] for x in s['labels']}
            key = labels.get('op'), labels.get('le')
            out[key] = out.get(key, 0) + sum(v for _, v in s['points'] if v)
        return out

    def quantile(self, q, op=None):
        """The edge of the bucket that holds it."""
        edges = {}
        for (of, le), n in self.increase(
                'lsm_request_seconds_bucket').items():
            if op in (None, of):
                edge = float(le.replace('+Inf', 'inf'))
                edges[edge] = edges.get(edge, 0) + n
        need = q * max(edges.values())
        return min(e for e, n in edges.items() if n >= need)

    def pools_of(self, function):
        """Names of threads that were seen in it, on a CPU or off it."""
        pools = set()
        for kind in 'cpu', 'offcpu':
            query = '%s{service="%s"}' % (kind, self.service)
            for pool in self.ask('/label-values', label='pool',
                                 query=query):
                if pool and self.total('%s{service="%s",pool="%s"}' % (
                        kind, self.service, pool), focus=function) > 0:
                    pools.add(pool)
        return sorted(pools)

    def locks(self):
        tree = self.ask('/api/v1/flamegraph.json',
                        query='lock_waits{service="%s"}' % self.service)
        threshold = tree['memlens'].get('threshold_seconds') or {}
        return tree['flamebearer']['numTicks'], threshold.get('min')


failed = []


def judge(name, got, want, may, unit):
    fits = may < float('inf') and abs(got - want) <= may
    if not fits:
        failed.append(name)
    print('%s - %s: %.6g %s, the program says %.6g (may differ by %.3g)' % (
        'ok' if fits else 'not ok', name, got, unit, want, may))
    print('row %s %.6g %s %.6g' % (name, got, unit, want))


def main():
    a, b = (Build(sys.argv[1], n) for n in (1, 2))
    share = [x.share('build_error_backtrace') for x in (a, b)]
    p999 = [x.quantile(0.999) for x in (a, b)]
    put = [x.quantile(0.99, 'put') for x in (a, b)]
    pools = [x.pools_of('flush_table') for x in (a, b)]
    locks = [x.locks() for x in (a, b)]
    asked = [sum(x.increase('lsm_request_seconds_count').values())
             for x in (a, b)]
    size = [sum(x.increase('lsm_bytes_total').values()) for x in (a, b)]
    print('build_error_backtrace was %.1f %% of the time, is %.1f %%.' % tuple(
        100 * x for x in share))
    print('p99.9 was %.3g ms, is %.3g ms.' % tuple(1e3 * x for x in p999))
    print('p99 of PUT was %.3g s, is %.3g ms.' % (put[0], 1e3 * put[1]))
    print('flush ran in threads named %s, runs in %s now.' % tuple(
        ', '.join(x) for x in pools))
    for x, (n, from_s) in zip((a, b), locks):
        print('Lock profile of build %d: probe active, %d events above '
              '%s us.' % (x.n, n, from_s and from_s * 1e6))
    for x, n, s in zip((a, b), asked, size):
        print('Build %d: %d requests in %s s, %d bytes.' % (
            x.n, n, x.says['requests'][1], s))
    for i, x in enumerate((a, b)):
        part, of = map(int, x.says['backtrace'])
        samples = of / 1e9 * 99
        p = part / of
        judge('backtrace_%d' % x.n, share[i], p,
              4 * (p * (1 - p) / samples) ** 0.5, 'ratio')
        for name, got, said in (('p99.9', p999[i], x.says['p99.9'][0]),
                                ('p99put', put[i], x.says['p99put'][0])):
            judge('%s_%d' % (name, x.n), got, float(said),
                  (FACTOR - 1) * got, 'seconds')
        judge('requests_%d' % x.n, asked[i], int(x.says['requests'][0]), 0,
              'requests')
        judge('bytes_%d' % x.n, size[i], int(x.says['requests'][2]), 0,
              'bytes')
        n = int(x.says['locks'][0])
        judge('locks_%d' % x.n, locks[i][0], n, 3 + n / 5, 'waits')
        want = ['flush-*'] if x.n == 2 else ['request-*']
        print('%s - flush of build %d: %s, the program says %s' % (
            'ok' if pools[i] == want else 'not ok', x.n, pools[i],
            x.says['flusher'][0]))
        if pools[i] != want:
            failed.append('pools')
    return len(failed) > 0


sys.exit(main())
