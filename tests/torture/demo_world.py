"""A world as world.py makes it, with the metrics that the pages ask for, so
that snapshot.mjs has something to record.

    python3 demo_world.py SEED SLOTS FIRST_SLOT DIR [SHARE]

writes what world.py writes.  Gauges are measured more often in some slots
than in others, counters and buckets stand still now and then, functions of
the kernel have names of others, and the profiles of one service were pushed in
nanoseconds alone.
"""
import sys

import world
from world import COUNTER, FLOW, GAUGE, FRAME, NAMES, entries, varint, zigzag

# name, unit, scale, [label sets]; SERVICE and GROUP stand for the service
SERVICE, GROUP = {'service': None}, {'groupname': None}
INSTANCES = [{'service': None, 'instance': i} for i in (':1', ':2')]
GAUGES = [
    ('leveldb_up', '', 0, INSTANCES),
    ('leveldb_cache_hit_ratio', 'ratio', 6, INSTANCES),
    ('leveldb_approximate_memory_bytes', 'bytes', 0, INSTANCES),
    ('leveldb_level_files', '', 0,
     [{**i, 'level': l} for i in INSTANCES for l in '01']),
    ('leveldb_level_size_bytes', 'bytes', 0,
     [{**i, 'level': l} for i in INSTANCES for l in '01']),
    ('namedprocess_namegroup_memory_bytes', 'bytes', 0,
     [{**GROUP, 'memtype': m} for m in ('resident', 'virtual')]),
    ('memlens_instance_memory_bytes', 'bytes', 0,
     [{**i, 'memtype': 'resident'} for i in INSTANCES]),
    ('node_memory_MemAvailable_bytes', 'bytes', 0, [{}]),
    ('node_memory_MemTotal_bytes', 'bytes', 0, [{}]),
    ('node_load1', '', 2, [{}]),
]
DEVICES = [{'device': d} for d in ('a', 'b')]
COUNTERS = [
    *[(f'leveldb_level_{name}_total', unit, scale,
       [{**i, 'level': l} for i in INSTANCES for l in '01'])
      for name, unit, scale in (('compaction_seconds', 'seconds', 3),
                                ('read_bytes', 'bytes', 0),
                                ('write_bytes', 'bytes', 0))],
    ('namedprocess_namegroup_cpu_seconds_total', 'seconds', 2,
     [{**GROUP, 'mode': m} for m in ('user', 'system')]),
    *[(f'{name}_{way}_bytes_total', 'bytes', 0, labels)
      for name, labels in (('namedprocess_namegroup', [GROUP]),
                           ('memlens_instance', INSTANCES))
      for way in ('read', 'write')],
    ('node_cpu_seconds_total', 'seconds', 2,
     [{'cpu': c, 'mode': m} for c in '01'
      for m in ('user', 'system', 'idle', 'iowait')]),
    *[(f'node_disk_{name}_total', unit, scale, DEVICES)
      for name, unit, scale in (
          ('io_time_seconds', 'seconds', 3), ('read_bytes', 'bytes', 0),
          ('written_bytes', 'bytes', 0), ('reads_completed', '', 0),
          ('writes_completed', '', 0), ('read_time_seconds', 'seconds', 3),
          ('write_time_seconds', 'seconds', 3))],
    *[(f'node_network_{way}_bytes_total', 'bytes', 0, DEVICES)
      for way in ('receive', 'transmit')],
    ('node_context_switches_total', '', 0, [{}]),
]
BORDERS = ['0.001', '0.01', '0.1', '1', '+Inf']
REASONS = [('stacks_broken', 'no tables yet'), ('stacks_broken', 'cut'),
           ('samples_lost', 'held full'), ('samples_lost', 'ring full')]
PUSHED = 's2'
world.PROFILES[0] = ('cpu', 'nanoseconds', FLOW, (10101010, 52631578))

for n in ('write', 'read', 'leaf'):
    FRAME[n + '@'] = (3, n, '[kernel]', '', 8)
FRAMES = NAMES + [n for n in FRAME if n.endswith('@')]


class DemoWorld(world.World):
    def random_stack(self):
        labels, frames = super().random_stack()
        rng = self.rng
        return labels, tuple(FRAME[rng.choice(FRAMES)] if
                             rng.random() < 0.2 else f for f in frames)

    def profiles(self, w, slot, share):
        super().profiles(w, slot, share)
        if self.rng.random() < share / 2:  # exact times, no samples
            values = {w.stack(labels, frames): self.rng.randint(1, 10 ** 9)
                      for labels, frames in self.rng.sample(
                          self.stacks[PUSHED], 3)}
            w.add(w.one(FLOW, 'cpu', 'nanoseconds', {'service': PUSHED}, 1),
                  slot, varint(1) + entries(values))

    def everywhere(self, specs, share):
        """(name, unit, scale, labels) of each series of a slot."""
        for name, unit, scale, sets in specs:
            for labels in sets:
                own = [l for l, v in labels.items() if v is None]
                for service in self.services[:3] if own else ['']:
                    if self.rng.random() < share:
                        yield name, unit, scale, {
                            l: service if v is None else v
                            for l, v in labels.items()}

    def count(self, w, slot, up, name, unit, scale, labels):
        key = (name, *sorted(labels.items()))
        raw = self.raw[key] = self.raw.get(key, 0) + up
        w.add(w.one(COUNTER, name, unit, labels, scale=scale), slot,
              varint(up) + varint(1) + zigzag(raw) + zigzag(5_000_000_000))

    def metrics(self, w, slot, share):
        rng = self.rng
        for name, unit, scale, labels in self.everywhere(GAUGES, share):
            v = [rng.randint(0, 10 ** rng.choice((1, 6, 11)))
                 for _ in range(rng.choice((1, 1, 2, 5)))]
            w.add(w.one(GAUGE, name, unit, labels, scale=scale), slot,
                  varint(len(v)) + zigzag(min(v)) +
                  varint(max(v) - min(v)) + zigzag(sum(v)) + zigzag(v[-1]) +
                  zigzag(9_000_000_000))
        for spec in self.everywhere(COUNTERS, share):
            self.count(w, slot, rng.choice((0, rng.randint(0, 10 ** 7))),
                       *spec)
        self.faults(w, slot, share)
        self.buckets(w, slot, share)

    def faults(self, w, slot, share):
        """Of services that were counted in the slot, and of the host."""
        rng = self.rng
        for whose in [{'service': s} for s in self.services] + [{}]:
            if rng.random() > share:
                continue
            of, labels = 'service' if whose else 'profile', {
                **whose, 'source': 'cpu'}
            if whose:
                self.count(w, slot, 9, 'memlens_service_samples_total', '',
                           0, labels)
            for name, reason in REASONS[:3 if whose else 4]:
                self.count(w, slot, rng.randint(0, 3),
                           f'memlens_{of}_{name}_total', '', 0,
                           {**labels, 'reason': reason})

    def buckets(self, w, slot, share):
        rng = self.rng
        for service in self.services[:3]:
            for op in ('get', 'put'):
                if rng.random() > share:
                    continue
                up = 0
                for le in BORDERS:
                    up += rng.choice((0, 0, rng.randint(0, 50)))
                    self.count(w, slot, up, 'op_seconds_bucket', '', 0,
                               {'service': service, 'op': op, 'le': le})


if __name__ == '__main__':
    world.World = DemoWorld
    world.main(*sys.argv[1:])
