/*
 * Made-up but plausible metrics of a host that runs a LevelDB service: each
 * metric is a pure function of time, so any range can be asked at any time.
 * Ten minutes of every two hours are missing, so that gaps are seen.
 */
const CPUS = 4;
const GIB = 1024 ** 3, MIB = 1024 ** 2;

function rand(seed) {
  let h = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return ((h ^ (h >>> 16)) >>> 0) / 0xffffffff;
}

/* Smooth noise in [0, 1] with the given period in seconds. */
export function noise(seed, t, period) {
  const k = Math.floor(t / period), u = t / period - k;
  const s = u * u * (3 - 2 * u);
  return rand(seed * 7919 + k) * (1 - s) + rand(seed * 7919 + k + 1) * s;
}

/* 0..1: how busy the clients keep the database. */
export function load(t) {
  const day = 0.5 + 0.3 * Math.sin(t / 86400 * 2 * Math.PI);
  return Math.min(1, Math.max(0.03, 0.25 * day + 0.45 * noise(1, t, 900) +
    0.3 * noise(2, t, 120) + 0.15 * noise(3, t, 20) - 0.1));
}

/* 0..1: compaction comes in bursts. */
export function compaction(t) {
  const phase = (t % 1100) / 1100;
  return phase < 0.16 ? Math.sin(phase / 0.16 * Math.PI) *
    (0.6 + 0.4 * noise(4, t, 30)) : 0;
}

export function missing(t) {
  return t % 7200 >= 4100 && t % 7200 < 4380;
}

const LEVELS = [0, 1, 2, 3, 4];
const SIZES = [3.2, 9.6, 94, 610, 0].map((m) => m * MIB);
const service = { service: 'kv_service' };
const perLevel = (name, unit, kind, f) => LEVELS.map((level) => ({ name, unit,
  kind, labels: { level: String(level), ...service },
  f: (t) => f(level, t) }));
const one = (name, unit, kind, labels, f) => [{ name, unit, kind, labels, f }];
const G = 'gauge', C = 'counter';

const GROUPS = [['kv_service', 2.1], ['nginx', 0.08], ['postgres', 0.3],
  ['memlensd', 0.012], ['systemd-journald', 0.02]];
const DISKS = [['nvme0n1', 1], ['sda', 0.12]];
const NETS = [['lo', 1.6], ['eth0', 1]];

/* Of a service by kind: its heap grows for two hours. */
const KINDS = {
  anonymous: (w, t) => (80 * w + 60 * w * ((t % 7200) / 7200) +
    20 * w * noise(71, t, 400)) * MIB,
  file: (w) => 60 * w * MIB, shared: (w) => 12 * w * MIB,
  swapped: (w, t) => 8 * w * noise(72, t, 3000) * MIB,
  proportionalResident: (w, t) => (130 * w + 60 * w * ((t % 7200) / 7200)) *
    MIB
};
const ALLOCATORS = ['jemalloc'];

function groups() {
  const out = [];
  for (const [i, [groupname, weight]] of GROUPS.entries()) {
    const busy = (t) => weight * (i === 0 ? load(t) + 0.55 * compaction(t)
      : noise(40 + i, t, 200));
    const L = { groupname, service: groupname };
    for (const [mode, part] of [['user', 0.72], ['system', 0.28]])
      out.push(...one('namedprocess_namegroup_cpu_seconds_total', 's', C,
        { ...L, mode }, (t) => part * busy(t) *
          (0.9 + 0.2 * noise(60 + i, t, 15))));
    out.push(
      ...one('namedprocess_namegroup_memory_bytes', 'bytes', G,
        { ...L, memtype: 'resident' }, (t) => (190 * weight + 20) * MIB +
          40 * MIB * weight * noise(70 + i, t, 600)),
      ...Object.entries(KINDS).flatMap(([memtype, f]) =>
        one('namedprocess_namegroup_memory_bytes', 'bytes', G,
          { ...L, memtype }, (t) => f(weight, t))),
      ...one('namedprocess_namegroup_memory_read_timestamp_seconds',
        'seconds', G, { ...L, memtype: 'proportionalResident' },
        (t) => t - t % 60),
      ...one('namedprocess_namegroup_allocator', '', G,
        { ...L, allocator: ALLOCATORS[i] || 'glibc' }, () => 1),
      ...one('namedprocess_namegroup_read_bytes_total', 'bytes', C, L,
        (t) => (i ? 0 : 1.5e6 * load(t) + 4.2e7 * compaction(t))),
      ...one('namedprocess_namegroup_write_bytes_total', 'bytes', C, L,
        (t) => weight * (3e5 + 5e6 * load(t)) +
          (i ? 0 : 5.5e7 * compaction(t))));
  }
  return out;
}

function disks() {
  const out = [];
  for (const [device, w] of DISKS) {
    const L = { device };
    const rio = (t) => (device === 'sda' ? 0
      : w * (20 + 380 * load(t) + 700 * compaction(t)));
    const wio = (t) => w * (40 + 300 * load(t) + 900 * compaction(t));
    const put = (name, unit, f) => out.push(...one(name, unit, C, L, f));
    put('node_disk_io_time_seconds_total', 's', (t) =>
      Math.min(1, w * (0.04 + 0.2 * load(t) + 0.6 * compaction(t))));
    put('node_disk_read_bytes_total', 'bytes', (t) => rio(t) * 31000);
    put('node_disk_written_bytes_total', 'bytes', (t) => wio(t) * 52000);
    put('node_disk_reads_completed_total', '', rio);
    put('node_disk_writes_completed_total', '', wio);
    put('node_disk_read_time_seconds_total', 's', (t) => rio(t) *
      (0.0003 + 0.0009 * compaction(t) + 0.0002 * noise(80, t, 30)));
    put('node_disk_write_time_seconds_total', 's', (t) => wio(t) *
      (0.0008 + 0.0041 * compaction(t) + 0.0006 * noise(81, t, 40)));
  }
  return out;
}

function host() {
  const out = [];
  const busy = (t) => 2.4 * (load(t) + 0.5 * compaction(t)) + 0.3;
  for (let cpu = 0; cpu < CPUS; cpu++)
    for (const [mode, f] of [
      ['idle', (t) => Math.max(0, 1 - busy(t) / CPUS - 0.04 -
        0.2 * compaction(t))],
      ['iowait', (t) => 0.01 + 0.2 * compaction(t)],
      ['user', (t) => busy(t) / CPUS * 0.6],
      ['nice', (t) => busy(t) / CPUS * 0.08],
      ['softirq', (t) => busy(t) / CPUS * 0.02],
      ['system', (t) => busy(t) / CPUS * 0.3]])
      out.push(...one('node_cpu_seconds_total', 's', C,
        { cpu: String(cpu), mode }, f));
  for (const [device, w] of NETS)
    out.push(
      ...one('node_network_receive_bytes_total', 'bytes', C, { device },
        (t) => w * (2e4 + 8e6 * load(t))),
      ...one('node_network_transmit_bytes_total', 'bytes', C, { device },
        (t) => w * (2e4 + 1.1e7 * load(t - 3))));
  return out.concat(
    one('node_memory_MemTotal_bytes', 'bytes', G, {}, () => 15.6 * GIB),
    one('node_memory_MemAvailable_bytes', 'bytes', G, {}, (t) =>
      (9.8 - 2.5 * noise(90, t, 3000)) * GIB),
    ...['AnonPages', 'Cached', 'Shmem', 'SwapTotal', 'SwapFree'].map((n, k) =>
      one(`node_memory_${n}_bytes`, 'bytes', G, {}, (t) =>
        ([2, 5, 0.4, 2, 1.8][k] + 0.1 * noise(91 + k, t, 900)) * GIB)),
    one('node_load1', '', G, {}, (t) => busy(t - 30) + 0.2),
    one('memlens_histograms_attached', '', G, { source: 'disk' }, () => 1),
    one('memlens_histograms_attached', '', G, { source: 'reclaim' }, () => 1),
    one('memlens_disk_lost_total', '', C, { reason: 'end not seen' }, () => 1),
    one('node_context_switches_total', '', C, {}, (t) =>
      3000 + 42000 * load(t)));
}

function leveldb() {
  const size = (l, t) => SIZES[l] * (l === 0
    ? 0.3 + (t % 1100) / 1100 : 1 + 0.03 * noise(20 + l, t, 2000));
  const work = (l) => (l < 3 ? [0.2, 1, 0.6][l] : 0);
  return [].concat(
    one('leveldb_up', '', G, service, () => 1),
    one('leveldb_cache_hit_ratio', 'ratio', G, service, (t) =>
      0.86 + 0.1 * noise(10, t, 700) - 0.14 * compaction(t)),
    one('leveldb_approximate_memory_bytes', 'bytes', G, service, (t) =>
      (9 + 4 * ((t % 310) / 310)) * MIB),
    perLevel('leveldb_level_files', '', G, (l, t) =>
      Math.ceil(size(l, t) / (2.1 * MIB))),
    perLevel('leveldb_level_size_bytes', 'bytes', G, size),
    perLevel('leveldb_level_compaction_seconds_total', 's', C, (l, t) =>
      work(l) * 0.5 * compaction(t)),
    perLevel('leveldb_level_read_bytes_total', 'bytes', C, (l, t) =>
      (l ? work(l) : 0) * 2.6e7 * compaction(t)),
    perLevel('leveldb_level_write_bytes_total', 'bytes', C, (l, t) =>
      work(l) * 2.4e7 * compaction(t) + (l ? 0 : 1e6 * load(t))));
}

/* A histogram that Prometheus would show: the borders of LE, per op. */
const LE = [0.0001, 0.001, 0.01, 0.1, Infinity];
function operations() {
  const rate = { get: (t) => 900 * load(t), set: (t) => 300 * load(t) };
  const part = [0.3, 0.9, 0.985, 0.999, 1];
  return Object.keys(rate).flatMap((op) => LE.map((le, k) => ({
    name: 'kv_operation_seconds_bucket', unit: '', kind: C,
    labels: { ...service, op, le: k === 4 ? '+Inf' : String(le) },
    f: (t) => rate[op](t) * part[k] })));
}

const METRICS = [...operations(), ...groups(), ...disks(), ...host(), ...leveldb()];

function matches(labels, matchers) {
  return matchers.every(([name, op, value]) => {
    const have = labels[name] === undefined ? '' : labels[name];
    const re = op.includes('~') && new RegExp('^(?:' + value + ')$');
    const yes = re ? re.test(have) : have === value;
    return op[0] === '!' ? !yes : yes;
  });
}

/* {name, matchers} of a selector, null when it is none. */
export function selector(text) {
  const m = /^([a-zA-Z_:][\w:]*)?(?:\{(.*)\})?$/s.exec(text || '');
  if (!m)
    return null;
  const matchers = [...(m[2] || '')
    .matchAll(/(\w+)(=~|!~|!=|=)"((?:[^"\\]|\\.)*)"/g)]
    .map(([, name, op, v]) => [name, op, v.replace(/\\(.)/g, '$1')]);
  return { name: m[1], matchers };
}

function point(metric, fn, t, step, now) {
  if (missing(t) || t + step > now)
    return null;
  let sum = 0, n = 0;
  for (let s = t; s < t + step && n < 24; s += Math.max(10, step / 24), n++)
    sum += metric.f(s);
  const mean = sum / n;
  return fn === 'increase' ? mean * step : mean;
}

export function series({ query, from, until, step, fn }, now) {
  const want = selector(query);
  const out = METRICS.filter((m) => (!want.name || m.name === want.name) &&
    matches({ ...m.labels, __name__: m.name }, want.matchers)).map((m) => {
    const points = [];
    for (let t = from; t < until; t += step)
      points.push([t, point(m, fn || (m.kind === C ? 'rate' : 'mean'), t,
        step, now)]);
    return { name: m.name, unit: m.unit, labels: m.labels, points };
  });
  return { from, until, step, series: out };
}
