"""What a recording says of the threads of a service, against what they say.

    python3 waits-compare.py RECORDING SERVICE LEAST_NS MOST_NS QUEUED_NS
        BEFORE_NS

They have lived for so long, and waited for a CPU; of that, so long before they
were of the service.
"""
import collections
import sys

import mlb

recording, service = sys.argv[1:3]
least, most, queued, before = map(int, sys.argv[3:])
states = collections.Counter()
histogram = full = 0
for b in mlb.batches(open(recording, 'rb').read()):
    for series, _, value in b.blocks:
        labels = series['labels']
        if (series['name'] == 'memlens_disk_lost_total' and
                labels['reason'] in ('sums full', 'run queue full')):
            full += value['increase']
        elif labels.get('service') != service:
            continue
        elif series['name'] == 'thread_seconds_total':
            states[labels['state']] += value['increase']
        elif series['name'] == 'run_queue_seconds':
            histogram += value['sum']


def expect(what, true, said):
    print(('ok - ' if true else 'not ok - ') + what)
    if not true:
        print('# %s' % (said,))


def about(ns):
    may = queued / 50 + 10e6
    return queued - before - may <= ns <= queued + may


lived = sum(states.values())
may = most / 1000 + 10e6
expect('all states are what the threads lived',
       least - may <= lived <= most + may, (lived, least, most, states))
expect('the run queue has what the kernel says',
       about(states['run queue']), (states, queued, before))
if full and not about(histogram):
    print('skip - and so does its histogram: %d values found no room' % full)
else:
    expect('and so does its histogram', about(histogram),
           (histogram, queued, before))
