/*
 * Named runs and the comparison of metrics.  Pure.  A run is what
 * api/v1/runs has; a row of a comparison is what api/v1/compare.json has:
 * {name, labels, unit, fn, value: [A, B], difference, ratio, better,
 * verdict}; null is no data, and never 0.
 */
(function (ns) {
  'use strict';

  const VERDICTS = ['better', 'worse', 'moved', 'same', 'only in A',
    'only in B'];

  function known(v) {
    return typeof v === 'number' && Number.isFinite(v);
  }

  function verdict(a, b, better) {
    return a === null ? 'only in B' : b === null ? 'only in A'
      : a === b ? 'same' : !better ? 'moved'
        : (b > a) === (better === 'up') ? 'better' : 'worse';
  }

  /* A recorded series as a row of a comparison: value is what it is in A and
   * in B by fn, maybe the rate of what was recorded as an increase. */
  function compareSeries(s, fn, value) {
    const rate = fn === 'rate' && s.fn !== fn, unit = s.unit || '';
    const [a, b] = value;
    return { name: s.name, labels: s.labels || {},
      unit: rate ? ns.unit.rate(unit) : unit,
      fn, value, better: s.better || null,
      difference: a === null || b === null ? null : b - a,
      ratio: a && b !== null ? b / a : null,
      verdict: verdict(a, b, s.better) };
  }

  /* How far apart, of the larger: what came or went is told last. */
  function size(row) {
    const [a, b] = row.value;
    const most = Math.max(Math.abs(a || 0), Math.abs(b || 0));
    return a === null || b === null || most === 0 ? 0
      : Math.abs(b - a) / most;
  }

  /* The service that is looked at first, then the host, then the others;
   * within each the order of the answer. */
  function ranked(rows, service) {
    const place = (r) => {
      const name = r.labels.service || r.labels.groupname;
      return name === undefined ? 1 : name === service ? 0 : 2;
    };
    return rows.map((r, i) => [place(r), i, r])
      .sort((x, y) => x[0] - y[0] || x[1] - y[1]).map((x) => x[2]);
  }

  /* What a person reads: buckets of histograms are hundreds of rows that
   * say together what their count and sum say, and what did not move. */
  function readable(answer, service) {
    const bucket = (r) => r.labels.le !== undefined &&
      /_bucket$/.test(r.name);
    const counts = Object.assign({}, answer.counts);
    for (const r of answer.rows.filter(bucket))
      counts[r.verdict] = Math.max(0, (counts[r.verdict] || 0) - 1);
    return Object.assign({}, answer, { counts, rows: ranked(answer.rows
      .filter((r) => r.verdict !== 'same' && !bucket(r)), service) });
  }

  /* Rows as an answer of compare.json; a, b: {from, until}. */
  function compared(rows, a, b) {
    const some = rows.filter((r) => r.value.some((v) => v !== null));
    const counts = Object.fromEntries(VERDICTS.map((v) =>
      [v, some.filter((r) => r.verdict === v).length]));
    const side = (range, s) => Object.assign({ series: some.filter((r) =>
      r.value[s] !== null).length, requests: null }, range);
    return { a: side(a, 0), b: side(b, 1), counts, rows: some.filter((r) => r.verdict !== 'same')
        .sort((x, y) => size(y) - size(x) || (x.name < y.name ? -1 : 1)) };
  }

  const REQUESTS = /(request|operation|transaction|command|quer|commit)/;

  /*
   * What may count requests: counters of the service.  What a histogram or
   * summary has counted was something that somebody has measured one by one;
   * of other totals the name must say it.  A bucket counts a request once for
   * each border above it, a sum counts none.  Likely names come first.
   */
  function counters(rows, service) {
    const names = new Set(rows.filter((r) => r.fn === 'rate' &&
      r.labels.service === service && (/_count$/.test(r.name) ||
      REQUESTS.test(r.name) && /_total$/.test(r.name)) &&
      r.labels.le === undefined &&
      !/^(memlens|node|namedprocess|exposer)_/.test(r.name))
      .map((r) => r.name));
    return [...names].sort((a, b) => REQUESTS.test(b) - REQUESTS.test(a) ||
      (a < b ? -1 : 1)).map((name) => ns.request.selector(name,
      { service }));
  }

  /* How two profiles are brought to one size: where nothing is chosen, what
   * is in use as it is, by shares else; by requests only where a counter of
   * them is chosen. */
  function normaliseOf({ normalise, requests }, { kind } = {}) {
    return normalise === 'requests' && !requests ? 'time'
      : normalise || (kind === 'stock' ? 'time' : 'total');
  }

  /* name{label="value"} as people write it. */
  function metric(row) {
    return ns.request.selector(row.name, row.labels);
  }

  /* "+12.3 %", "× 4.2", "new": how B stands to A. */
  function change(row) {
    const [a, b] = row.value;
    if (a === null || b === null)
      return '';
    if (a === 0)
      return b === 0 ? 'same' : 'from 0';
    if (b === 0)
      return 'to 0';
    const r = b / a;
    if (r >= 2 || r < 0)
      return '× ' + ns.format.compact(r);
    const p = (r - 1) * 100;
    const digits = Math.abs(p) >= 10 ? 0 : Math.abs(p) >= 1 ? 1 : 2;
    return (p > 0 ? '+' : '−') + Math.abs(p).toFixed(digits) + ' %';
  }

  /* The beginning of a range and its end, a tenth of it each, but so long
   * that something is measured once a minute in both. */
  const END_S = 90;
  function ends({ from, until, slot = ns.time.SLOT_S }) {
    const part = Math.min((until - from) / 2,
      Math.max((until - from) / 10, END_S));
    return { a: { from, until: ns.time.onGrid(from + part, slot,
      Math.floor) }, b: { from: ns.time.onGrid(until - part, slot,
      Math.ceil), until } };
  }

  /*
   * A and B as the page's state says: B is the range that is shown, A a
   * given one, else as long and right before it.  Where nothing is as old as
   * that, they are the halves of the range.
   */
  function pair(state, range, oldest, now) {
    const { slot } = range;
    /* another service of the same time, where nothing else is chosen */
    if (state.aservice && !state.base && state.afrom === '')
      return { a: range, b: range };
    const { from, until } = ns.time.resolve(state.afrom, state.auntil, now,
      slot);
    if (state.afrom !== '' && state.auntil !== '' && from < until)
      return { a: { from, until }, b: range };
    const span = range.until - range.from;
    if (state.base === 'ends')
      return Object.assign(ends(range), { ends: true });
    if (range.from - span / 2 >= oldest ||
        oldest >= range.until - 2 * (slot || ns.time.SLOT_S))
      return { a: { from: range.from - span, until: range.from }, b: range };
    const start = Math.max(range.from, oldest);
    const middle = ns.time.onGrid((start + range.until) / 2,
      slot || ns.time.SLOT_S, Math.round);
    return { a: { from: start, until: middle },
      b: { from: middle, until: range.until }, halves: true };
  }

  /* The one instance that is chosen; '' where it is none, or a sum. */
  const instance = (state) => (/^[+*]?$/.test(state.instance) ? ''
    : state.instance);

  /* The run whose range this is, or undefined. */
  function named(runs, range) {
    const same = (a, b) => Math.abs(a - b) < 1e-6;
    return runs.find((r) => same(r.from, range.from) &&
      same(r.until, range.until));
  }

  /* What is known of a run beside its range: [[label, text]]. */
  function facts(run) {
    const out = [];
    const add = (label, v) => v !== undefined && v !== '' &&
      out.push([label, String(v)]);
    add('Label', run.label);
    add('Revision', run.revision);
    add('Build id', run.build_id);
    add('Client', run.client);
    if (known(run.rate_target) || known(run.rate_reached))
      add('Rate', (known(run.rate_reached)
        ? ns.format.compact(run.rate_reached) : '?') + '/s reached' +
        (known(run.rate_target)
          ? ' of ' + ns.format.compact(run.rate_target) + '/s' : ''));
    add('Kernel', run.kernel);
    add('Governor', run.governor);
    for (const [k, v] of Object.entries(run.sysctls || {}))
      add(k, v);
    add('Notes', run.notes);
    return out;
  }

  ns.runs = { VERDICTS, compareSeries, compared, ranked, readable, counters,
    normaliseOf, size, metric, change, pair, instance, named, facts };
})(globalThis.MemLens = globalThis.MemLens || {});
