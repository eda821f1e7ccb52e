"""procfs-compare.py DIR: compares DIR/rec (slots of 1 s) with the pages of
node_exporter DIR/page1..5, pulled between the two times in DIR/at1..5."""
import re
import sys

import mlb

# Families that both must have with the same label sets, and those of which
# ours may be a part (other devices, other keys).
SAME = '''node_cpu_seconds_total node_cpu_guest_seconds_total node_load1
node_load5 node_load15 node_context_switches_total node_intr_total
node_forks_total node_procs_running node_procs_blocked
node_boot_time_seconds node_filefd_allocated node_filefd_maximum
node_disk_reads_completed_total node_disk_reads_merged_total
node_disk_read_bytes_total node_disk_read_time_seconds_total
node_disk_writes_completed_total node_disk_writes_merged_total
node_disk_written_bytes_total node_disk_write_time_seconds_total
node_disk_io_now node_disk_io_time_seconds_total
node_disk_io_time_weighted_seconds_total
node_network_receive_bytes_total node_network_receive_packets_total
node_network_receive_errs_total node_network_receive_drop_total
node_network_transmit_bytes_total node_network_transmit_packets_total
node_network_transmit_errs_total node_network_transmit_drop_total
node_schedstat_running_seconds_total node_schedstat_waiting_seconds_total
node_schedstat_timeslices_total node_pressure_cpu_waiting_seconds_total
node_pressure_io_waiting_seconds_total
node_pressure_io_stalled_seconds_total
node_pressure_memory_waiting_seconds_total
node_pressure_memory_stalled_seconds_total node_vmstat_pgfault
node_vmstat_pgmajfault node_vmstat_pswpin node_vmstat_pswpout
node_vmstat_oom_kill node_vmstat_pgpgin node_vmstat_pgpgout'''.split()
PART = '''node_filesystem_size_bytes node_filesystem_free_bytes
node_filesystem_avail_bytes node_filesystem_files
node_filesystem_files_free'''.split()
# Of one moment: nothing can be said of another one.
MOMENT = ('node_procs_running', 'node_procs_blocked', 'node_disk_io_now',
          'node_filefd_allocated')


def say(good, name, detail=()):
    print(('ok' if good else 'not ok') + ' - ' + name)
    for line in list(detail)[:10]:
        print('#', line)


def page(path):
    values, types = {}, {}
    for line in open(path):
        m = re.match(r'# TYPE (\S+) (\S+)', line)
        if m:
            types[m[1]] = m[2]
        m = re.match(r'([a-zA-Z_:]\w*)(?:\{(.*)\})? (\S+)', line)
        if m:
            labels = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', m[2] or '')
            text = ','.join(f'{k}="{v}"' for k, v in sorted(labels))
            values[f'{m[1]}{{{text}}}'] = float(m[3])
    return values, types


def recording(path):
    """series -> {slot: block}, and the descriptors."""
    blocks, series = {}, {}
    with open(path, 'rb') as f:
        for b in mlb.batches(f.read()):
            for s, slot, block in b.blocks:
                key = mlb.key(s)
                series[key] = s
                blocks.setdefault(key, {})[slot] = block
    return blocks, series


def real(series, value):
    return value / 10 ** series['scale']


def check_counter(key, series, blocks, value, begin, end):
    """Our raw readings before the pull and after it, value between them."""
    before = [s for s in blocks if s + 1 <= begin]
    after = [s for s in blocks if s >= end]
    if not before or not after:
        return f'{key}: no slot around {begin}'
    low = real(series, blocks[max(before)]['last'])
    high = real(series, blocks[min(after)]['last'])
    slack = 1e-6 + abs(value) * 1e-9
    if 'iowait' in key or '"idle"' in key:
        slack += 0.05 + abs(value) * 2e-3 # not monotone in the kernel
    if low - slack <= value <= high + slack:
        return None
    return f'{key}: {value} is not in [{low}, {high}]'


def check_gauge(key, series, blocks, value, begin, end):
    """Between the readings around that moment, however far they are."""
    first = max([s for s in blocks if s + 1 <= begin], default=0) - 1
    last = min([s for s in blocks if s >= end], default=end) + 1
    near = [blocks[s] for s in blocks if first <= s <= last]
    if not near:
        return f'{key}: no slot around {begin}'
    low = real(series, min(b['min'] for b in near))
    high = real(series, max(b['max'] for b in near))
    slack = 0.02 * max(abs(low), abs(high)) + (
        16 << 20 if series['unit'] == 'bytes' else 2)
    if low - slack <= value <= high + slack:
        return None
    return f'{key}: {value} is not in [{low}, {high}]'


def family(key):
    return key.split('{')[0]


def main(folder):
    blocks, series = recording(f'{folder}/rec')
    wrong, checked, kinds = [], {'counter': 0, 'gauge': 0}, []
    off = {}
    for n in '12345':
        theirs, types = page(f'{folder}/page{n}')
        begin, end = (float(t) for t in open(f'{folder}/at{n}'))
        for key, value in theirs.items():
            if key not in blocks:
                continue
            s = series[key]
            declared = types.get(family(key))
            if declared in ('counter', 'gauge') and declared != s['kind'] \
                    and not family(key).startswith('node_netstat'):
                kinds.append(f'{key}: {s["kind"]}, not {declared}')
            if family(key) in MOMENT:
                continue
            check = check_counter if s['kind'] == 'counter' else check_gauge
            checked[s['kind']] += 1
            bad = check(key, s, blocks[key], value, begin, end)
            if bad and s['kind'] == 'gauge':
                off.setdefault(key, []).append(bad)
            elif bad:
                wrong.append(bad)
    # A gauge may jump between two readings, but not five times: one of a
    # wrong unit or of another thing is off each time.
    wrong += [bad[0] for bad in off.values() if len(bad) == 5]
    # Disks and mounts of others come and go meanwhile.
    pages = [page(f'{folder}/page{n}')[0] for n in '12345']
    theirs = set(pages[0]).intersection(*pages)
    ours = set(blocks)
    slots = blocks['node_load1{}']
    missing = [k for k in theirs if family(k) in SAME and k not in ours]
    surplus = [k for k in ours if family(k) in SAME + PART
               and not any(k in p for p in pages)
               and len(blocks[k]) >= len(slots) - 1
               and 'device="lo"' not in k]
    memory = [k for k in theirs if k.startswith('node_memory_')
              and k not in ours]
    absent = [f for f in SAME + PART if f in map(family, theirs)
              and f not in map(family, ours)]
    say(not missing, 'every series of node_exporter in these families '
        'is here', missing)
    say(not surplus, 'and no other', surplus)
    say(not absent, 'no family is absent', absent)
    say(not memory, 'all of node_memory', memory)
    say(not kinds, 'counters are counters, gauges gauges', kinds)
    say(checked['counter'] > 100 and checked['gauge'] > 100,
        f'{checked["counter"]} counters and {checked["gauge"]} gauges '
        'compared')
    say(not wrong, 'values are those of node_exporter', wrong)


main(sys.argv[1])
