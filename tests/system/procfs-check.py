"""procfs-check.py RECORDING READINGS: the sums of the service "burn" between
the two readings, within 2 %."""
import json
import sys

import mlb

NAMES = {
    'user': 'cpu_seconds_total{groupname="burn",mode="user",service="burn"}',
    'system': 'cpu_seconds_total{groupname="burn",mode="system",'
              'service="burn"}',
    'minor': 'minor_page_faults_total{groupname="burn",service="burn"}',
    'write': 'write_bytes_total{groupname="burn",service="burn"}',
    'voluntary': 'context_switches_total{ctxswitchtype="voluntary",'
                 'groupname="burn",service="burn"}',
}
first, second = json.load(open(sys.argv[2]))
begin, end = round(first['time']), round(second['time'])
sums, resident, processes = {}, [], 0
for b in mlb.batches(open(sys.argv[1], 'rb').read()):
    for s, slot, block in b.blocks:
        name = mlb.key(s).replace('namedprocess_namegroup_', '')
        start = slot * b.slot_ns // 10 ** 9
        if 'groupname="burn"' not in name or not begin <= start < end:
            continue
        if s['kind'] == 'counter':
            assert block['increase'] >= 0
            sums[name] = sums.get(name, 0) + \
                block['increase'] / 10 ** s['scale']
        elif 'memtype="resident"' in name:
            resident.append(block['last'])
        elif name.startswith('num_procs'):
            processes = block['last']


def say(good, name, detail):
    print(('ok' if good else 'not ok') + f' - {name}: {detail}')


for what, name in NAMES.items():
    want, got = second[what] - first[what], sums.get(name, 0)
    slack = 0.02 * want + (0.04 if what in ('user', 'system') else 0)
    say(want > 0 and abs(got - want) <= slack, what,
        f'{got:g}, an independent reader {want:g}')
say(processes == second['processes'] == 5, 'processes', processes)
want = (first['resident'] + second['resident']) / 2
got = sum(resident) / max(1, len(resident))
say(abs(got - want) < 0.25 * want, 'resident bytes', f'{got:g}, {want:g}')
