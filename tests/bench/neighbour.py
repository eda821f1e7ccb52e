"""Questions about quiet services, of a worker on each store of neighbour.sh.

    neighbour.py BUILD FROM UNTIL QUESTIONS DIR [BUILD-BEFORE]

Prints "KIND P50 P99 P50 P99 [P99]": ms of CPU, alone and beside neighbours,
and the latter with the build before; KIND is "first" (what a new worker
costs until each page was asked once), "all", or a page, or a range.  All are
asked in turns, the same questions, and see the same machine.
"""
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../torture'))
import fcgi  # noqa: E402

RANGES = {'5m': 300, '1h': 3600, '1d': 86400, '30d': 30 * 86400}
PAGES = {
    'flamegraph': '/api/v1/flamegraph.json?query=cpu{service="%s"}',
    'table': '/api/v1/table.json?query=cpu{service="%s"}',
    'series': '/api/v1/series?query=memory_1{service="%s"}',
    'services': '/api/v1/services?',
}
NEWEST = {'types': '/api/v1/types', 'health': '/api/v1/health',
          'metrics': '/metrics'}
FIRSTS = 4  # new workers


class Worker:
    """One process that answers, and what that has cost."""

    def __init__(self, build, store, until):
        self.args = (build, store, until)
        self.dir = tempfile.TemporaryDirectory()
        clock, self.socket = self.dir.name + '/clock', self.dir.name + '/s'
        with open(clock, 'wb') as f:
            f.write(struct.pack('=q', until - int(time.time())))
        self.log = open(self.dir.name + '/log', 'w')
        self.parent = subprocess.Popen(
            [build + '/memlens-fcgi', '-s', store, '-p', 'all', '-j', '1',
             '-l', self.socket], stderr=self.log, stdout=self.log,
            env=dict(os.environ, WRONG_CLOCK=clock,
                     LD_PRELOAD=build + '/api/wrong_clock.so'))
        deadline = time.time() + 100
        while not os.path.exists(self.socket) or not self.children():
            if time.time() > deadline or self.parent.poll() is not None:
                raise OSError('no worker: ' + open(self.log.name).read())
            time.sleep(0.02)

    def children(self):
        p = self.parent.pid
        with open('/proc/%d/task/%d/children' % (p, p)) as f:
            return f.read().split()

    def cpu(self):
        with open('/proc/%s/schedstat' % self.child) as f:
            return int(f.read().split()[0])

    def ask(self, uri):
        uri = uri.replace('{', '%7B').replace('}', '%7D').replace('"', '%22')
        self.child = self.children()[0]
        before = self.cpu()
        status, _, body = fcgi.ask(self.socket, 'GET', uri)
        if status != 200:
            raise OSError('%s: %d: %s' % (uri, status, body[:200]))
        return (self.cpu() - before) / 1e6

    def end(self):
        self.parent.terminate()
        self.parent.wait()
        self.log.close()
        self.dir.cleanup()


def questions(rng, first, until, n):
    """(page, range, uri), no two alike."""
    for i in range(n):
        page = rng.choice(sorted(PAGES) + sorted(NEWEST))
        if page in NEWEST:
            yield page, '', NEWEST[page]
            continue
        span = rng.choice(sorted(RANGES))
        uri = PAGES[page]
        if '%s' in uri:
            uri %= 'quiet%d' % rng.randrange(100)
        # mostly of the present, as people ask
        end = until - (0 if rng.random() < .7 else
                       rng.randrange(until - first))
        yield page, span, '%s&from=%d&until=%d' % (
            uri, max(end - RANGES[span] - i, 0), end)


def share(times, part):
    times = sorted(times)
    return times[min(len(times) - 1, int(len(times) * part))]


def main():
    build, first, until, n, top = sys.argv[1:6]
    first, until = int(first), int(until)
    whos = [(build, top + '/quiet/store'), (build, top + '/loud/store')]
    whos += [(b, top + '/loud/store') for b in sys.argv[6:]]
    cost = {}  # kind -> a list for each of whos
    for turn in range(FIRSTS):
        rng = random.Random(turn)
        workers = [Worker(b, s, until) for b, s in whos]
        pages = list(NEWEST.items()) + [(p, u % 'quiet7' if '%s' in u else u)
                                        for p, u in PAGES.items()]
        rng.shuffle(pages)
        sums = [0] * len(whos)
        for page, uri in pages:
            if page in PAGES:
                uri += '&from=%d&until=%d' % (until - 3600, until)
            for i, w in enumerate(workers):
                sums[i] += w.ask(uri)
        for i in range(len(whos)):
            cost.setdefault('first', [[] for _ in whos])[i].append(sums[i])
        if turn < FIRSTS - 1:
            for w in workers:
                w.end()
    for page, span, uri in questions(random.Random(7), first, until, int(n)):
        for i, w in enumerate(workers):
            ms = w.ask(uri)
            for kind in {'all', page, span} - {''}:
                cost.setdefault(kind, [[] for _ in whos])[i].append(ms)
    for w in workers:
        w.end()
    for kind, lists in cost.items():
        numbers = [share(t, p) for t in lists[:2] for p in (.5, .99)]
        numbers += [share(t, .99) for t in lists[2:]]
        print(kind, *('%.3f' % x for x in numbers))


if __name__ == '__main__':
    main()
