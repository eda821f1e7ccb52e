"""Histograms of a recording against /proc/diskstats and a program's clock.

    python3 disk-compare.py FOLDER RECORDING DEVICE SERVICE MODE
"""
import os
import statistics
import sys

import mlb

folder, recording, device, service, mode = sys.argv[1:]


def path(name):
    return os.path.join(folder, name)


def low(bucket):
    if bucket < 128:
        return bucket
    return (bucket % 128 + 128) << bucket // 128 - 1


def expect(name, true, said):
    print(('ok - ' if true else 'not ok - ') + name)
    if not true:
        print('# %s' % (said,))


class Histograms:
    """Their sums over all slots, by name and labels."""
    def __init__(self, data):
        self.all = {}
        self.lost = {}
        for b in mlb.batches(data):
            for series, _, value in b.blocks:
                if series['kind'] == 'histogram':
                    self.add(series, value)
                elif series['name'] == 'memlens_disk_lost_total':
                    reason = series['labels']['reason']
                    self.lost[reason] = (self.lost.get(reason, 0) +
                                         value['increase'])

    def add(self, series, value):
        key = (series['name'], tuple(sorted(series['labels'].items())))
        h = self.all.setdefault(key, {'buckets': {}, 'sum': 0, 'count': 0})
        for bucket, n in value['entries']:
            h['buckets'][bucket] = h['buckets'].get(bucket, 0) + n
            h['count'] += n
        h['sum'] += value['sum']

    def of(self, name, **labels):
        out = {'buckets': {}, 'sum': 0, 'count': 0}
        for (n, have), h in self.all.items():
            have = dict(have)
            if n != name or any(have.get(k) != v for k, v in labels.items()):
                continue
            for bucket, count in h['buckets'].items():
                out['buckets'][bucket] = out['buckets'].get(bucket, 0) + count
            out['sum'] += h['sum']
            out['count'] += h['count']
        return out


def diskstats():
    # reads merged sectors ms writes merged sectors ms now ms weighted
    # discards merged sectors ms flushes ms
    before, after = [[int(n) for n in open(path(f)).read().split()[3:]]
                     for f in ('before', 'after')]
    return [b - a for a, b in zip(before, after)]


def compare_device(h):
    d = diskstats()
    for operation, at in (('read', 0), ('write', 4), ('discard', 11)):
        of = {'device': device, 'operation': operation}
        queue = h.of('disk_queue_seconds', **of)
        disk = h.of('disk_device_seconds', **of)
        size = h.of('disk_request_bytes', **of)
        want = d[at]
        # A flush that somebody asks for is a write without bytes there, too.
        empty = d[15] if operation == 'write' else 0
        expect('%s: as many as in diskstats' % operation,
               disk['count'] == queue['count'] and
               want - empty - unseen <= disk['count'] <= want,
               (disk['count'], queue['count'], want, empty, unseen))
        expect('%s: as many bytes' % operation,
               size['sum'] == d[at + 2] * 512 or
               (disk['count'] < want - empty and
                size['sum'] < d[at + 2] * 512),
               (size, d[at + 2] * 512, disk['count']))
        ms = (disk['sum'] + queue['sum']) / 1e6
        expect('%s: no more time than in diskstats' % operation,
               ms <= d[at + 3] + 1 + want * 0.05, (ms, d[at + 3]))
    flushes = h.of('disk_device_seconds', device=device, operation='flush')
    expect('flushes: as many', d[15] - unseen <= flushes['count'] <= d[15],
           (flushes['count'], d[15], unseen))
    # The kernel tells nothing of a flush of its own before it is issued.
    queue = h.of('disk_queue_seconds', device=device, operation='flush')
    expect('flushes: none has a time in the queue that nobody has measured',
           queue['count'] == 0, queue)


def compare_reads(h, lines):
    n, size = [(int(x[1]), int(x[2])) for x in lines if x[0] == 'reads'][0]
    of = {'device': device, 'operation': 'read', 'service': service}
    all_reads = h.of('disk_request_bytes', **of)
    ordered = h.of('disk_request_bytes', pattern='sequential', **of)
    # Beside those that the program counts are metadata: few.
    expect("the program's reads are its", n <= all_reads['count'] <= n + 20
           and size <= all_reads['sum'] <= size + 20 * 65536, (n, all_reads))
    expect('those in order are sequential',
           195 <= ordered['count'] <= 215, ordered)


def compare_owner(h, lines):
    """Each request of a child is its, though it is over."""
    n = [int(x[1]) for x in lines if x[0] == 'reads'][0]
    of = {'device': device, 'operation': 'read', 'service': service}
    for name in ('disk_device_seconds', 'disk_queue_seconds',
                 'disk_request_bytes'):
        got = h.of(name, **of)['count']
        expect("%s: the children's and threads' are theirs" % name,
               n - unseen <= got <= n + 20, (n, got, unseen))


def compare_queues(h):
    """Where the kernel tells of their beginning, none is issued at once."""
    if not any(os.path.exists(os.path.join(
            folder, 'events/block/block_io_start'))
            for folder in ('/sys/kernel/tracing', '/sys/kernel/debug/tracing')):
        return
    for operation in ('read', 'write'):
        q = h.of('disk_queue_seconds', operation=operation, service=service)
        at_once = sum(n for b, n in q['buckets'].items() if low(b) < 100)
        expect('%s: none waits for no time' % operation,
               q['count'] > 0 and at_once == 0, (at_once, q['count']))


def compare_others(h, lines):
    """Writes that are syncs: as ext4 sees them, whoever sees calls."""
    n = sum(x[:2] == ['sync', 'other'] for x in lines)
    got = h.of('disk_sync_seconds', call='other', filesystem='ext4',
               service=service)
    expect('other: as many', n > 0 and got['count'] == n, (got['count'], n))


def compare_syncs(h, lines):
    for call in ('fsync', 'fdatasync', 'msync'):
        true = sorted(int(x[2]) for x in lines
                      if x[0] == 'sync' and x[1] == call)
        got = h.of('disk_sync_seconds', call=call, service=service)
        # One more fsync, of the file that is read.
        extra = call == 'fsync'
        expect('%s: as many' % call, got['count'] == len(true) + extra,
               (got['count'], len(true)))
        values = sorted(low(b) * (1 + 1 / 256) for b, n in
                        got['buckets'].items() for _ in range(n))
        if extra:
            values.remove(max(values))
        # The kernel's part of a call is in the call, but for the bucket.
        over = [(v, t) for v, t in zip(values, true) if v > t * 1.008]
        expect('%s: none is longer than the program says' % call, not over,
               over)
        off = statistics.median(t - v for v, t in zip(values, true))
        middle = statistics.median(true)
        expect('%s: as long as the program says' % call,
               abs(off) <= middle / 128 + 20000, (off, middle))


h = Histograms(open(recording, 'rb').read())
# The kernel runs no program within itself: an interrupt's may be told of as
# skipped.  Then nothing is known of how many there are.
skipped = h.lost.pop('skipped')
# Of all devices: those of the host's own disk are in it.
expect('ends that were not seen are counted', 'end not seen' in h.lost,
       h.lost)
unseen = h.lost.pop('end not seen', 0)
expect('there was room for all', not any(h.lost.values()) or skipped > 0,
       h.lost)
if skipped > 0:
    print('ok - # skip, and it is told: %d were skipped' % skipped)
    sys.exit(0)
lines = [line.split() for line in open(path('true'))]
compare_device(h)
if mode == 'short':
    compare_owner(h, lines)
else:
    compare_reads(h, lines)
    compare_syncs(h, lines)
    compare_others(h, lines)
    compare_queues(h)
