"""A histogram of a service in a recording against what is known of it.

    python3 histogram-compare.py RECORDING SERIES SERVICE N NS_LEAST NS_MOST
"""
import sys

import mlb

recording, name, service = sys.argv[1:4]
want_n, least, most = map(int, sys.argv[4:])
n = ns = full = 0
for b in mlb.batches(open(recording, 'rb').read()):
    for series, _, value in b.blocks:
        if series['name'] == 'memlens_disk_lost_total':
            full += value['increase'] * (
                series['labels']['reason'] in ('sums full',
                                               'run queue full'))
        elif (series['name'] == name and
                series['labels']['service'] == service):
            ns += value['sum']
            n += sum(count for _, count in value['entries'])


def expect(what, true, said):
    if not true and full:
        print('skip - %s: %d values of all found no room, %s' % (
            what, full, said))
        return
    print(('ok - ' if true else 'not ok - ') + what)
    if not true:
        print('# %s' % (said,))


# The first moments of a program may be those of who began it.
expect('as long as is known', least - 20e6 <= ns <= most + 20e6,
       (ns, least, most))
expect('as often', abs(n - want_n) <= want_n / 100 + 10, (n, want_n))
