"""Waits for a CPU of a recording against what the kernel sums.

    python3 run-queue-compare.py RECORDING SCHEDSTATS SERVICE
"""
import sys

import mlb

recording, schedstats, service = sys.argv[1:]
n = ns = 0
for b in mlb.batches(open(recording, 'rb').read()):
    for series, _, value in b.blocks:
        if (series['name'] == 'run_queue_seconds' and
                series['labels']['service'] == service):
            ns += value['sum']
            n += sum(count for _, count in value['entries'])
lines = [line.split() for line in open(schedstats)]
want_ns = sum(int(line[1]) for line in lines)
want_n = sum(int(line[2]) for line in lines)


def expect(name, true, said):
    print(('ok - ' if true else 'not ok - ') + name)
    if not true:
        print('# %s' % (said,))


# The first moments of a program may be those of who began it.
expect('as long as in schedstat', abs(ns - want_ns) <= want_ns / 100 + 20e6,
       (ns, want_ns))
expect('as often', abs(n - want_n) <= want_n / 100 + 10, (n, want_n))
