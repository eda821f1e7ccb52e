"""procfs-check.py RECORDING READINGS: the sums of the service "burn" between
the two readings, within 2 % and what was used in the time that lies between
our reading and theirs: on a busy machine the two cannot be made at once."""
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
blocks, resident, processes, peak = {}, [], 0, {}
for b in mlb.batches(open(sys.argv[1], 'rb').read()):
    for s, slot, block in b.blocks:
        name = mlb.key(s).replace('namedprocess_namegroup_', '')
        start = slot * b.slot_ns // 10 ** 9
        if 'groupname="burn"' not in name:
            continue
        at = start + b.slot_ns // 10 ** 9
        if s['kind'] == 'counter':
            assert block['increase'] >= 0
            blocks.setdefault(name, {})[at] = (
                block['increase'] / 10 ** s['scale'],
                (slot * b.slot_ns + block['at']) / 10 ** 9)
        if not begin <= start < end:
            continue
        if s['kind'] == 'counter':
            peak[name] = max(peak.get(name, 0), blocks[name][at][0] *
                             10 ** 9 / b.slot_ns)
        elif 'memtype="resident"' in name:
            resident.append(block['last'])
        elif name.startswith('num_procs'):
            processes = block['last']


def say(good, name, detail):
    print(('ok' if good else 'not ok') + f' - {name}: {detail}')


for what, name in NAMES.items():
    # A daemon that got no CPU skips slots, and the next one has their sum.
    mine = blocks.get(name, {})
    since, until = (min((at for at in mine if at >= when), default=0)
                    for when in (begin, end))
    want = second[what] - first[what]
    got = sum(more for at, (more, _) in mine.items() if since < at <= until)
    slack = 0.02 * want + (0.04 if what in ('user', 'system') else 0)
    apart = sum(max(abs(mine.get(at, (0, 0))[1] - theirs[t])
                    for t in ('began', 'time'))
                for at, theirs in ((since, first), (until, second)))
    slack += apart * peak.get(name, 0)
    say(want > 0 and since < until and abs(got - want) <= slack, what,
        f'{got:g}, an independent reader {want:g}, {apart:.3f} s apart')
say(processes == second['processes'] == 5, 'processes', processes)
for t, theirs in (('first', first), ('last', second)):
    low, high = min(resident, default=0), max(resident, default=0)
    say(0.75 * low < theirs['resident'] < 1.25 * high, f'{t} resident bytes',
        f'{low} to {high}, an independent reader {theirs["resident"]}')
