#!/usr/bin/env python3
"""Asks many mixed questions over kept connections and looks at the memory of
those who answer; or feeds a daemon.  See questions.sh.

    questions.py ask PORT QUESTIONS SEED FIRST MASTER
    questions.py feed MEMLENS DIR SEED SLOTS

FIRST is the first second of the store, MASTER the process of the pool.  Ends
with lines "settled PID RESIDENT PRIVATE" and "last PID RESIDENT PRIVATE" (kB)
of each worker, of which the first is the largest of the looks between 20,000
and 40,000 questions of 100,000, and "questions ASKED DISTINCT FOUND FAILED".
"""
import collections
import http.client
import os
import queue
import random
import subprocess
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'torture'))
import world  # noqa: E402

SLOT_NS = 100_000_000
CLIENTS, DISTINCT, LOOKS = 6, 5000, 10


# ---- questions ----

def profile(rng):
    name = rng.choice(['cpu', 'wall', 'alloc_space', 'inuse_space'])
    match = [rng.choice(['service="s%d"' % rng.randrange(5),
                         'service=~"s[0-2]"', 'service!="s1"'])]
    if rng.random() < 0.3:
        match.append(rng.choice(['pool="a"', 'pool=~"a|c"', 'process=""']))
    return {'query': f'{name}{{{",".join(match)}}}'}


def metric(rng, name):
    service = rng.choice(['', '{service="s%d"}' % rng.randrange(3)])
    return {'query': name + service}


def times(rng, first, now, suffix=''):
    """A third of them up to now."""
    until = now if rng.random() < 0.3 else rng.uniform(first, now)
    length = rng.choice([1, 10, 60, 600, now - first])
    return {'from' + suffix: f'{max(until - length, first - 5):.3f}',
            'until' + suffix: f'{until:.3f}'}


def question(rng, first, now):
    when = times(rng, first, now)
    shape = {}
    if rng.random() < 0.2:
        shape['focus'] = rng.choice(['lock|write', '^read$', 'none'])
    if rng.random() < 0.1:
        shape['ignore'] = '^idle$'
    page, more = rng.choice([
        ('flamegraph.json', {'max-nodes': rng.choice([-1, 20, 8192])}),
        ('flamegraph.svg', {'min-width': '0.1%'}),
        ('flamegraph.svg', {'width': rng.randrange(200, 3000)}),
        ('flamegraph.html', {}), ('flamegraph.pprof', {}),
        ('flamegraph.folded', {}), ('table.csv', {}),
        ('flamegraph.speedscope.json', {}),
        ('table.json', {'limit': rng.choice([10, 500])}),
        ('table.json', {'function': 'read'}),
        ('sandwich.json', {'function': rng.choice(['read', 'lock'])}),
        ('diff.json', times(rng, first, now, '-b')),
        ('diff.svg', times(rng, first, now, '-b')),
        ('series', None), ('series', None), ('percentiles', None),
        ('compare.json', None), ('services', None), ('types', None),
        ('health', None)])
    if more is not None:
        # tools that read pprof have a focus of their own
        more = {**profile(rng), **more,
                **(shape if page != 'flamegraph.pprof' else {})}
    elif page == 'series':
        more = metric(rng, rng.choice(['w_gauge', 'w_total']))
    elif page == 'percentiles':
        more = metric(rng, 'w_seconds')
    else:
        more = times(rng, first, now, '-b') if page == 'compare.json' else {}
    return f'/api/v1/{page}?' + urllib.parse.urlencode({**when, **more})


# ---- clients ----

class Tally:
    def __init__(self):
        self.codes, self.failed = collections.Counter(), []
        self.lock = threading.Lock()

    def add(self, code, uri, said):
        with self.lock:
            self.codes[code] += 1
            if code not in (200, 404):
                self.failed.append(f'{code} {uri} {said[:200]!r}')


def client(port, todo, tally, seed):
    rng = random.Random(seed)
    http_ = http.client.HTTPConnection('127.0.0.1', port, timeout=120)
    while (uri := todo.get()) is not None:
        head = {'Accept-Encoding': 'gzip'} if rng.random() < 0.2 else {}
        try:
            http_.request('GET', uri, headers=head)
            answer = http_.getresponse()
            tally.add(answer.status, uri, answer.read())
        except OSError as e:
            tally.add(0, uri, str(e))
            http_.close()
        todo.task_done()


def memory(pid):
    kb = collections.Counter()
    with open(f'/proc/{pid}/smaps_rollup') as f:
        for line in f:
            key, _, value = line.partition(':')
            if value.endswith(' kB\n'):
                kb[key.split('_')[0]] += int(value.split()[0])
    return kb['Rss'], kb['Private']


def workers(master):
    with open(f'/proc/{master}/task/{master}/children') as f:
        return [int(p) for p in f.read().split()]


def ask(port, questions, seed, first, master):
    port, questions, first = int(port), int(questions), float(first)
    rng, tally, todo = random.Random(seed), Tally(), queue.Queue()
    known, looks, pids = [], [], workers(master)
    for n in range(CLIENTS):
        threading.Thread(target=client, args=(port, todo, tally, n),
                         daemon=True).start()
    for look in range(1, LOOKS + 1):
        for _ in range(questions // LOOKS):
            # as time goes on there is more to ask for
            if len(known) < DISTINCT or rng.random() < 0.01:
                known.append(question(rng, first, time.time()))
                todo.put(known[-1])
            else:
                todo.put(rng.choice(known))
        todo.join()
        looks.append([memory(p) for p in pids])
        print(f'# {look * questions // LOOKS} asked:', *(
            f'{p}: {rss} kB, private {private}'
            for p, (rss, private) in zip(pids, looks[-1])), flush=True)
    for n, pid in enumerate(pids):
        settled = [max(look[n][k] for look in looks[1:4]) for k in (0, 1)]
        print('settled', pid, *settled)
        print('last', pid, *looks[-1][n])
    for line in tally.failed[:10]:
        print('#', line)
    print('# workers are', 'the same' if pids == workers(master) else 'others')
    print('questions', sum(tally.codes.values()), len(set(known)),
          tally.codes[200], len(tally.failed) +
          (pids != workers(master)))


# ---- the feeder ----

def feed(memlens, where, seed, slots):
    """SLOTS slots into a new store; then each as it has passed, to the
    daemon, from when its socket is there until it is gone."""
    world.SLOT_NS = SLOT_NS
    first = time.time_ns() // SLOT_NS - int(slots)
    some, batch = world.World(seed, int(slots), first), where + '/feed.mlb'
    socket, at = where + '/memlensd.sock', first + int(slots)
    some.write(batch, range(first, at), 0.3, True)
    subprocess.run([memlens, 'import', batch, where + '/store'], check=True)
    print('first', first * SLOT_NS / 1e9, flush=True)
    while True:
        time.sleep(0.5)
        until = time.time_ns() // SLOT_NS
        if not os.path.exists(socket):
            continue
        some.write(batch, range(at, until), 0.3, True)
        if subprocess.run([memlens, 'import', batch, socket],
                          stdout=subprocess.DEVNULL).returncode:
            print('fed nothing', flush=True)
            return
        at = until


if __name__ == '__main__':
    {'ask': ask, 'feed': feed}[sys.argv[1]](*sys.argv[2:])
