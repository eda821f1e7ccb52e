"""Rounds of a recording against what replicas printed, and the capture.

    python3 pbft-compare.py FOLDER ROUNDS BASE-PORT
"""
import sys
from collections import Counter

import mlb

folder, rounds, base = sys.argv[1], sys.argv[2], int(sys.argv[3])
PHASES = ('prepare', 'commit', 'execute')
SLOT_NS = 500000000


def low(bucket):
    if bucket < 128:
        return bucket
    return (bucket % 128 + 128) << bucket // 128 - 1


def expect(name, true, said=''):
    print(('ok - ' if true else 'not ok - ') + name)
    if not true:
        print('# %s' % (said,))


def at_rank(values, p):
    return sorted(values)[min(len(values) - 1, int(p * len(values)))]


counters, buckets, sums, zeros, clusters = {}, {}, {}, {}, {}
slots = {}  # of who: rounds that were executed, and their phases
fallen = set()
last = {}
for b in mlb.batches(open(folder + '/rec', 'rb').read()):
    for series, slot, value in b.blocks:
        labels = series['labels']
        who = labels.get('instance')
        clusters.setdefault(who, set()).add(labels.get('cluster'))
        if series['name'] == 'pbft_rounds_total':
            key = who, labels['state']
            counters[key] = counters.get(key, 0) + value['increase']
            zeros[key] = zeros.get(key, 0) + (value['increase'] == 0)
            if value['last'] < last.get(key, 0):
                fallen.add(key)
            last[key] = value['last']
            if labels['state'] == 'execute':
                slots.setdefault((who, 'rounds'), Counter())[slot] += \
                    value['increase']
        elif series['name'] == 'memlens_pbft_lost_total':
            key = who, labels['reason']
            counters[key] = counters.get(key, 0) + value['increase']
        elif series['name'] == 'pbft_phase_seconds':
            key = who, labels['phase']
            h = buckets.setdefault(key, {})
            for bucket, n in value['entries']:
                h[bucket] = h.get(bucket, 0) + n
            sums[key] = sums.get(key, 0) + value['sum']
            if labels['phase'] == 'execute':
                slots.setdefault((who, 'phases'), Counter())[slot] += \
                    sum(n for _, n in value['entries'])

captured = {}
for line in open(rounds):
    if not line.startswith('#'):
        words = line.split()
        captured.setdefault(int(words[0]), []).append(
            [int(w) for w in words[3:]])


def compare(i, number):
    """A process, and the replica of the capture that it replayed."""
    who = ':%d' % (base + i)
    own = [[int(w) for w in line.split()[1:]]
           for line in open('%s/replica%d' % (folder, i))
           if line.startswith('round')]
    n = len(own)
    expect('replica %d: it went through the capture' % i,
           n == len(captured[number]), n)
    for state in ('pre-prepare', 'prepare', 'commit', 'execute'):
        got = counters.get((who, state))
        expect('replica %d: %s as often as it was' % (i, state), got == n,
               (got, n))
    requests = counters.get((who, 'request'))
    expect('replica %d: %s' % (i, 'has requests' if number == 1
                               else 'proposes nothing'),
           requests == (n if number == 1 else 0), requests)
    lost = {k[1]: v for k, v in counters.items() if k[0] == who and v and
            k[1] in ('sums full', 'beginning unknown', 'end not seen',
                     'state unknown')}
    expect('replica %d: nothing is lost' % i, not lost, lost)
    compare_slots('replica %d' % i, who, [o[-2:] for o in own])
    for at, phase in enumerate(PHASES):
        compare_phase('replica %d: %s' % (i, phase), (who, phase),
                      [o[2 * at] for o in own], [o[2 * at + 1] for o in own],
                      [c[at] for c in captured[number]])


def compare_slots(name, who, times):
    """Only a call over a slot's end may be of either."""
    least = Counter(a // SLOT_NS for a, b in times
                    if a // SLOT_NS == b // SLOT_NS)
    most = Counter(s for a, b in times
                   for s in {a // SLOT_NS, b // SLOT_NS})
    for what in ('rounds', 'phases'):
        got = +slots.get((who, what), Counter())
        wrong = [(s, least[s], got[s], most[s]) for s in {*most, *got}
                 if not least[s] <= got[s] <= most[s]]
        expect('%s: %s are of their slots' % (name, what), not wrong,
               sorted(wrong))
    expect(name + ': no counter has begun anew',
           not [k for k in fallen if k[0] == who], fallen)


def compare_phase(name, key, least, most, capture):
    """A rank's value is between the ranks of what they are at least and at
    most; the replay is late by what the machine made it."""
    h = buckets.get(key, {})
    values = [b for b in sorted(h) for _ in range(h[b])]
    expect(name + ': a value a round', len(values) == len(least),
           (len(values), len(least)))
    if not values:
        return
    expect(name + ': their sum', sum(least) <= sums[key] <= sum(most),
           (sum(least), sums[key], sum(most)))
    early = min(a - c for a, c in zip(least, capture))
    late = max(a - c for a, c in zip(most, capture))
    for p in (0.5, 0.9, 0.99):
        bucket = at_rank(values, p)
        begin, end = low(bucket), low(bucket + 1)
        expect('%s: p%g is its own, within a bucket' % (name, p * 100),
               begin <= at_rank(most, p) and at_rank(least, p) < end,
               (at_rank(least, p), begin, end, at_rank(most, p)))
        true = at_rank(capture, p)
        expect("%s: p%g is the capture's, within a bucket" % (name, p * 100),
               begin <= true + late and true + early < end,
               (begin, end, true, early, late))
    print('# %s: the replay was from %d early to %d ns late' %
          (name, -early, late))


for i, number in ((1, 1), (2, 2), (3, 3), (5, 2)):
    compare(i, number)
silent = {k[1]: v for k, v in counters.items()
          if k[0] == ':%d' % (base + 4)}
expect('a silent replica has zeros', silent and not any(silent.values()) and
       zeros[':%d' % (base + 4), 'execute'] > 3, silent)
expect('no other process has rounds',
       {k[0] for k in buckets} == {':%d' % (base + i) for i in (1, 2, 3, 5)},
       {k[0] for k in buckets})
# four states and three phases of each round
strangers = counters.get((None, 'process unknown'))
expect('what another program does with the same file is counted as lost',
       strangers == 7 * len(captured[3]), strangers)
of = [clusters[':%d' % (base + i)] for i in (1, 2, 3, 4)]
expect('those of one file are of one cluster, others of another',
       of[0] == of[1] == of[2] != of[3] and all(
           len(x) == 1 and None not in x for x in of), of)
