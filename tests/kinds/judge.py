"""Judges what a daemon has seen of the kinds of program, by the table's bounds.

    python3 judge.py FORM TABLE FOLDER HZ KIND...

FORM: table, tap (ok and not ok) or rows (of benchmarks).  FOLDER is that of
run.sh: rec, before, after, perf.txt, missing/KIND.

ratio   samples / HZ to the CPU time that /proc tells of the kind, all of its
        run.  N samples of T seconds: |N / HZ - T| may be three standard
        errors, 3 sqrt(T / HZ + n tick^2 / 12 + tick^2), and the table's share
        of T.  The first term is the sampling's (Poisson's, an upper bound of
        what a clock gives that ticks evenly); the second that of n readings
        that /proc cuts to ticks of 10 ms, half of which is put back; the third
        for what ran under the pid before it was this program.  Samples that
        the daemon says it has lost are put back evenly, and may be anybody's:
        their share is added to the table's.
root    share of the samples that begin at a known root and bear no mark, from
        three seconds after the first one; on a machine so busy that rows come
        later, behind the slot in which nine of ten have them.  Samples
        without a stack in user space (a process that begins or ends) aside.
named   share of their frames that have a name; functions of the C library
        that has none for them (they are in libc6-dbg) aside.
perf    the largest difference of a function's share of the leaves to perf's,
        in standard errors of the two; functions of a share over 2 %.  What
        is one function is told by where it begins in its page, since two
        names of one place are both right.

A share may miss its bound by three standard errors of that bound, and by two
samples.  Of samples whose rows had not come LATE % (1) count as whole: on a
busy machine a profiler, too, has to wait.
"""
import collections
import json
import math
import os
import re
import sys

sys.path.insert(0, 'tests/system')
import mlb  # noqa: E402

TICK = 0.01
NATIVE, ADDRESS, KERNEL, BPF, JIT, INLINED, MANAGED, MARK = range(1, 9)
LATE = ('[no unwind table yet]', '[new code]')
NO_USER = ('[no user memory]', '[no user stack]')
# Kept stacks whose middle was left out are whole at both ends.
INNER = '[frames left out]'
FEW = 30  # samples that a share can be judged by
CALM_S = 3
MAY_BE_LATE = float(os.environ.get('LATE', 1)) / 100

LIBC = r'(libc|ld-linux-x86-64|libm)\.so\.[26]\+0x'
ROOTS = (r'^(_start|(__GI_)?_*clone3?|_dl_start_user|'
         r'libc\.so\.6\+0x[0-9a-f]+;(start_thread|libc\.so\.6\+0x)[^;]*|'
         r'ld-linux-x86-64\.so\.2\+0x[0-9a-f]+(;_dl_start[^;]*)?|'
         r'[^;]*0x[0-9a-f]+;__libc_start_main[^;]*)(;|$)')


class Table:
    """name: root pattern, reach, named, bias, sigmas, why"""

    def __init__(self, path):
        self.rows = {}
        with open(path, encoding='ascii') as f:
            for line in f:
                if line.startswith('#'):
                    continue
                name, *row = line.rstrip('\n').split('\t')
                self.rows[name] = row


def stack(batch, node):
    frames = []
    while node:
        node, edge = batch.nodes[node]
        if node:
            frames.append(batch.frames[edge])
    return frames[::-1]


def recorded(path, kinds):
    """kind: slot: [(frames from the root, samples)]; slots a second; the
    share of all samples that was lost."""
    count, slot_ns = collections.Counter(), 1e9
    out = {k: collections.defaultdict(list) for k in kinds}
    with open(path, 'rb') as f:
        data = f.read()
    for payload in mlb.whole(data):
        batch, known = mlb.Batch(payload), {}
        slot_ns = batch.slot_ns
        for series, slot, block in batch.blocks:
            kind = series['labels'].get('service')
            # Those of other types of profiles are not of the clock.
            if (series['kind'] == 'counter' and
                    series['labels'].get('source') == 'cpu'):
                count[series['name']] += block['increase']
            if (series['kind'] != 'flow' or series['name'] != 'cpu' or
                    kind not in out):
                continue
            for node, value in block['entries']:
                if node not in known:
                    known[node] = stack(batch, node)
                out[kind][slot].append((known[node], value))
    lost = (count['memlens_profile_samples_lost_total'] /
            (count['memlens_profile_runs_total'] or 1))
    return out, 1e9 / slot_ns, lost


def is_late(frames):
    return any(f[0] == MARK and f[1] in LATE for f in frames[:2])


def settled(slots, slots_a_second):
    """The stacks from CALM_S on; later, where rows came later, or never."""
    calm = [s for s in sorted(slots)
            if s - min(slots) >= CALM_S * slots_a_second]
    for i, slot in enumerate(calm):
        n = sum(v for _, v in slots[slot])
        late = sum(v for f, v in slots[slot] if is_late(f))
        if late * 10 <= n:
            return [s for slot in calm[i + (i > 0):] for s in slots[slot]]
    return [s for slot in calm for s in slots[slot]]


def reaches(frames, root):
    if any(f[0] == MARK and f[1] != INNER for f in frames):
        return False
    return re.search(root, ';'.join(f[1] for f in frames[:4])) is not None


def file_of(module):
    """A library under another name is the same one; generated code."""
    name = os.path.basename(module).split('.so')[0]
    return 'jit' if name in ('', 'anon') or name.startswith('perf-') else name


def leaf_key(frame):
    kind, name, module, _, entry = frame
    if kind in (KERNEL, BPF):
        return 'kernel;'
    if kind in (ADDRESS, JIT):
        return file_of(module) + (';?' if kind == ADDRESS else ';' + name)
    return f'{file_of(module)};{entry & 0xfff:03x} {name}'


class Perf:
    """Leaves by perf, of each kind: Counter of (module;function)."""

    def __init__(self, path, pids):
        self.of = {pid: kind for kind, all_ in pids.items() for pid in all_}
        self.leaves = collections.defaultdict(collections.Counter)
        self.there = os.path.exists(path)
        if not self.there:
            return
        with open(path, encoding='utf-8', errors='replace') as f:
            for line in f:
                self.line(line)

    def line(self, line):
        fork = re.search(r'RECORD_FORK\((\d+):\d+\):\((\d+):', line)
        if fork:
            child, parent = map(int, fork.groups())
            if parent in self.of:
                self.of.setdefault(child, self.of[parent])
            return
        found = re.search(r' (\d+)/\d+ +([0-9a-f]+) (.*) \((.*)\)$', line)
        if found is None or int(found.group(1)) not in self.of:
            return
        pid, ip, name, path = found.groups()
        module = file_of(path.split(' ')[0])
        if re.match(r'\[(kernel|guest|bpf)|bpf_', path):
            key = 'kernel;'
        elif name == '[unknown]':
            key = module + ';?'
        elif module == 'jit':
            key = module + ';' + name.rsplit('+0x', 1)[0]
        else:
            name, offset = name.rsplit('+0x', 1)
            entry = int(ip, 16) - int(offset, 16)
            key = f'{module};{entry & 0xfff:03x} {name}'
        self.leaves[self.of[int(pid)]][key] += 1


def folded(ours, theirs):
    """Both by function's entry; by file where one of them has no names."""
    nameless = {k.split(';')[0] for c in (ours, theirs) for k in c
                if k.endswith(';?')}

    def fold(counter):
        out = collections.Counter()
        for key, n in counter.items():
            file, name = key.split(';', 1)
            out[file if file in nameless else
                file + ';' + (name if file == 'jit' else name[:3])] += n
        return out
    return fold(ours), fold(theirs)


def furthest(ours, theirs):
    """(sigmas, function) of the largest difference."""
    ours, theirs = folded(ours, theirs)
    n, m = sum(ours.values()), sum(theirs.values())
    worst = (0.0, '')
    if n < FEW or m < FEW:
        return None
    for key in set(ours) | set(theirs):
        a, b = ours[key], theirs[key]
        p = (a + b) / (n + m)
        if p < 0.02:
            continue
        z = abs(a / n - b / m) / math.sqrt(p * (1 - p) * (1 / n + 1 / m))
        worst = max(worst, (z, f'{key} {100 * a / n:.1f} and '
                               f'{100 * b / m:.1f} %'))
    return worst


def read_cpu(path):
    """kind: (ticks, readings, pids)"""
    out = {}
    with open(path, encoding='ascii') as f:
        for line in f:
            name, ticks, readings, *pids = line.split()
            out[name] = (int(ticks), int(readings),
                         [int(p) for p in (pids or [''])[0].split(',') if p])
    return out


def share_ok(good, n, bound):
    """Three standard errors of the bound, and two samples."""
    spread = 3 * math.sqrt(n * bound * (1 - bound)) + 2
    return good >= n * bound - spread


class Kind:
    """What is measured of one, and whether it keeps its bounds."""

    def __init__(self, name, bounds, slots, rate, before, after, leaves,
                 hz, lost):
        self.name, self.wrong, self.notes = name, [], []
        self.root, self.reach, self.named, self.bias, self.sigmas = (
            bounds[:5])
        self.why = bounds[5] if len(bounds) > 5 else ''
        self.n = sum(v for s in slots.values() for _, v in s)
        self.judge_cpu(before.get(name, (0, 0, [])), after[name], hz, lost)
        self.by_perf = (sum(leaves.values()) / hz / self.cpu
                        if leaves and self.cpu > 0 else None)
        self.judge_stacks(slots, rate)
        self.judge_leaves(slots, leaves)

    def judge_cpu(self, before, after, hz, lost):
        readings = before[1] + after[1]
        self.cpu = (after[0] - before[0] +
                    (after[1] - before[1]) / 2) * TICK
        sampled = self.n / hz / (1 - lost)
        self.ratio = sampled / self.cpu if self.cpu > 0 else 0
        self.may_be_off = float(self.bias) / 100 + lost
        self.se = math.sqrt(max(self.cpu, 1 / hz) / hz +
                            readings * TICK ** 2 / 12 + TICK ** 2)
        if abs(sampled - self.cpu) > (3 * self.se +
                                      self.may_be_off * self.cpu):
            self.wrong.append(
                f'CPU: {sampled:.2f} s by samples, {self.cpu:.2f} s by '
                f'/proc, standard error {self.se:.3f} s')

    def off(self):
        """How much the ratio may differ from one."""
        return 3 * self.se / self.cpu + self.may_be_off if self.cpu else 0

    def judge_stacks(self, slots, rate):
        root = ROOTS if self.root == '-' else ROOTS + '|' + self.root
        self.all = good = late = self.frames = names = 0
        self.bad, nameless = collections.Counter(), collections.Counter()
        for frames, v in settled(slots, rate):
            if frames and frames[0][1] in NO_USER:
                continue
            self.all += v
            if reaches(frames, root):
                good += v
            else:
                late += v if is_late(frames) else 0
                self.bad[';'.join(f[1] for f in frames[:3])] += v
            code = [f for f in frames if f[0] != MARK]
            self.frames += v * len(code)
            for f in code:
                if f[0] == ADDRESS and re.match(LIBC, f[1]):
                    self.frames -= v
                elif f[0] == ADDRESS:
                    nameless[f[1]] += v
                else:
                    names += v
        self.reached = good / self.all if self.all else 0
        self.names = names / self.frames if self.frames else 0
        if self.all < FEW:
            if float(self.reach) > 0:
                self.notes.append(f'{self.all} samples: too few for shares')
            return
        whole = good + min(late, self.all * MAY_BE_LATE)
        if not share_ok(whole, self.all, float(self.reach) / 100):
            self.wrong.append(f'root: {good} of {self.all} reach one; others: '
                              + self.most(self.bad))
        # Frames of one sample are not independent: as many as samples.
        if not share_ok(self.names * self.all, self.all,
                        float(self.named) / 100):
            self.wrong.append(f'named: {100 * self.names:.1f} % of the frames;'
                              ' others: ' + self.most(nameless))
        self.nameless = nameless

    def judge_leaves(self, slots, leaves):
        self.far = None
        if self.sigmas == '-' or leaves is None:
            return
        ours = collections.Counter()
        for s in slots.values():
            for frames, v in s:
                if frames[-1][0] != MARK:
                    ours[leaf_key(frames[-1])] += v
        self.far = furthest(ours, leaves)
        if self.far and self.far[0] > float(self.sigmas):
            self.wrong.append(f'perf: {self.far[1]}: {self.far[0]:.1f} '
                              'standard errors apart')

    @staticmethod
    def most(counter):
        return ', '.join(f'{n} {k}'[:110] for k, n in counter.most_common(3))


def percent(x):
    return f'{100 * x:.1f}'


FORM = ('{:9} {:>7} {:>6} {:>6} {:>6} {:>5} {:>7} {:>6} {:>5} {:>7} {:>5} '
        '{:>8} {:>5}')


def columns(k):
    return (k.name, k.n, f'{k.cpu:.2f}', f'{k.ratio:.3f}',
            f'{k.by_perf:.3f}' if k.by_perf else '-', f'{k.off():.2f}', k.all,
            percent(k.reached), k.reach, percent(k.names), k.named,
            f'{k.far[0]:.1f}' if k.far else '-', k.sigmas)


def print_table(kinds, missing):
    head = ('kind', 'samples', 'CPU s', 'ratio', 'perf\'s', 'bound', 'settled',
            'root %', 'bound', 'named %', 'bound', 'perf, se', 'bound')
    print(FORM.format(*head))
    for k in kinds:
        print(FORM.format(*columns(k)))
        for text in k.wrong:
            print('    WRONG', text)
        for text in k.notes:
            print('    ', text)
        if os.environ.get('VERBOSE'):
            print('     bad:', k.most(k.bad))
            print('     nameless:', k.most(getattr(k, 'nameless',
                                                   collections.Counter())))
            print('     far:', k.far)
    for name, why in missing.items():
        print(f'{name}: not run: {why}')


def print_tap(kinds, missing):
    for k in kinds:
        print('# ' + ' '.join((
            k.name, f'{k.n} samples, ratio {k.ratio:.3f}, may be off by',
            f'{k.off():.2f};', f'{k.all} settled:',
            f'root {percent(k.reached)} %, named {percent(k.names)} %')))
        for text in k.notes:
            print(f'# {k.name}: {text}')
        if k.wrong:
            print(f'not ok - {k.name}')
            print('\n'.join('# ' + w for w in k.wrong))
        else:
            print(f'ok - {k.name}: CPU as /proc, root, names')
    for name, why in missing.items():
        print(f'# {name} was not run: {why}')


def print_rows(kinds, missing):
    for k in kinds:
        far = f', perf {k.far[0]:.1f} se' if k.far else ''
        print(json.dumps({
            'name': f'kinds_{k.name}', 'value': round(k.ratio, 3),
            'unit': f"of /proc's CPU; {percent(k.reached)} % to a root, "
                    f'{percent(k.names)} % named{far}',
            'reference': f'off by at most {k.off():.2f}; {k.reach}, '
                         f"{k.named} %, {k.sigmas} se; perf's ratio",
            'reference_value': k.by_perf and round(k.by_perf, 3),
            'ratio': None}))
        for text in k.wrong:
            print(f'WRONG {k.name}: {text}')
    for name, why in missing.items():
        print(f'{name}: not run: {why}')


def main(form, path, folder, hz, *names):
    table = Table(path).rows
    before, after = (read_cpu(os.path.join(folder, f))
                     for f in ('before', 'after'))
    missing = {}
    for name in names:
        why = os.path.join(folder, 'missing', name)
        if os.path.exists(why):
            with open(why, encoding='utf-8') as f:
                missing[name] = f.read().strip()
        elif name not in after or not after[name][2]:
            missing[name] = 'ENDED EARLY'
    there = [n for n in names if n not in missing]
    slots, rate, lost = recorded(os.path.join(folder, 'rec'), there)
    perf = Perf(os.path.join(folder, 'perf.txt'),
                {n: after[n][2] for n in there})
    kinds = [Kind(n, table[n], slots[n], rate, before, after,
                  perf.leaves[n] if perf.there else None, float(hz), lost)
             for n in there]
    print(f'# lost, and counted as that: {100 * lost:.2f} % of the samples')
    {'table': print_table, 'tap': print_tap, 'rows': print_rows}[form](
        kinds, missing)
    ended = [n for n, why in missing.items() if why == 'ENDED EARLY']
    for name in ended:
        print(f'not ok - {name} has ended early')
    sys.exit(any(k.wrong for k in kinds) or bool(ended))


main(*sys.argv[1:])
