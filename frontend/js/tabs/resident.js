/*
 * What of a service is in memory, by kind, stacked; and beside it what its
 * heap holds, and what is resident for nothing.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const S = ns.series, F = ns.format;
  const KINDS = [['swapped', 'swap', '--series-5'],
    ['shared', 'shared', '--series-4'], ['file', 'file', '--series-1'],
    ['anonymous', 'anonymous', '--series-2']];
  const MEMORY = 'memory_bytes';
  /* When what is not read each time was: the oldest part of it. */
  const READ = 'memory_read_timestamp_seconds';
  /* Of the whole host: services share pages, so theirs do not add up. */
  const HOST = { anonymous: ['AnonPages'], file: ['Cached', '-Shmem'],
    shared: ['Shmem'], swapped: ['SwapTotal', '-SwapFree'] };

  /* What programs say themselves of what they have allocated and not freed, by
   * Prometheus's exporters: jemalloc's and tcmalloc's statistics, malloc_info,
   * Go's.  The first of them that a service has is taken. */
  const OWN = [/.*jemalloc.*_allocated(_bytes)?/,
    /.*allocator_allocated_bytes/, /.*tcmalloc.*current_allocated.*/,
    /.*malloc_(info_)?(used|in_use|uordblks)(_bytes)?/,
    /go_memstats_heap_alloc_bytes/];

  /* Of a service, or of one instance of it. */
  function queries(service, instance) {
    const who = instance ? { service, instance } : { service };
    const named = (name, more) => ns.request.selector((instance
      ? 'memlens_instance_' : 'namedprocess_namegroup_') + name,
    { ...who, ...more });
    return service ? [
      { key: 'own', query: ns.request.selector('', { __name__: new RegExp(
        OWN.map((r) => r.source).join('|')), ...who }) },
      { key: 'memory', query: named(MEMORY, {
        memtype: /anonymous|file|shared|swapped|proportionalResident/ }) },
      { key: 'read', fn: 'last', query: named(READ, {
        memtype: 'proportionalResident' }) },
      { key: 'allocator', fn: 'last', query: ns.request.selector(
        'namedprocess_namegroup_allocator', { service }) }]
      : [...new Set(Object.values(HOST).flat())].map((name) => ({
        key: name.replace('-', ''),
        query: `node_memory_${name.replace('-', '')}_bytes` }));
  }

  /* How old the newest PSS is: it is read once a minute, process by process.
   * "" where nobody has told.  Pure. */
  function readAt(cols, pss) {
    const k = pss ? pss.v.findLastIndex((v) => v !== null) : -1;
    const at = k < 0 ? [] : (cols || []).map((c) =>
      ns.series.align(c, [pss.t[k]])[0]).filter((v) => v !== null);
    return at.length ? 'PSS: the last one of this range was read at ' +
      F.dateTime(Math.min(...at)) + '; it is read once a minute.' : '';
  }

  const sumOf = (cols) => (cols && cols.length ? S.sum(cols) : null);

  /* {anonymous, file, shared, swapped, proportional}: a column each, null
   * where there is none.  Pure. */
  function kinds(r, service) {
    if (service) {
      const by = S.by(r.memory.cols, 'memtype');
      return Object.assign(Object.fromEntries(KINDS.map(([kind]) =>
        [kind, sumOf(by.get(kind))])),
      { proportional: sumOf(by.get('proportionalResident')) });
    }
    const host = (names) => {
      const cols = names.map((n) => [sumOf(r[n.replace('-', '')].cols),
        n[0] === '-' ? -1 : 1]);
      return cols.every(([c]) => c) ? cols.map(([c, k]) => S.scale(c, k))
        .reduce((a, b) => S.zip(a, b, (x, y) => Math.max(0, x + y))) : null;
    };
    return Object.assign(Object.fromEntries(KINDS.map(([kind]) =>
      [kind, host(HOST[kind])])), { proportional: null });
  }

  /* A profile is pulled once a minute: so long its values stand. */
  const STANDS_S = 120;

  /* Points of api/v1/leaks, means of steps, at other times: what is known
   * last.  Pure. */
  function spread({ points, step }, times) {
    const known = points.filter((p) => p[1] !== null);
    const v = [], stands = Math.max(step, STANDS_S);
    let k = -1;
    for (const t of times) {
      while (k + 1 < known.length && known[k + 1][0] <= t)
        k++;
      v.push(k >= 0 && t < known[k][0] + stands ? known[k][1] : null);
    }
    return { labels: {}, unit: 'bytes', t: times, v };
  }

  /* A program's own figure, of all its instances; null where it says none.
   * Pure. */
  function own(cols) {
    for (const name of OWN) {
      const exactly = new RegExp('^(' + name.source + ')$');
      const found = (cols || []).find((c) => exactly.test(c.name));
      if (found)
        return S.sum(cols.filter((c) => c.name === found.name));
    }
    return null;
  }

  /* What is live by the heap's profile, and what of the resident column
   * nobody asked for, by that or by the program's own figure; null where
   * neither is.  Pure. */
  function heap(leaks, resident, told) {
    if (!resident)
      return [null, null];
    const live = leaks && leaks.heap ? spread({ points: leaks.total.points,
      step: leaks.step }, resident.t) : null;
    const held = live || told;
    return [live, held ? S.zip(resident, held, (a, b) =>
      Math.max(0, a - b)) : null];
  }

  function cards() {
    const spec = { height: 200, sync: 'heap', format: F.bytes, least: 2 ** 20,
      onSelect: (range) => ns.view.select(range) };
    return [ns.card.chart(Object.assign({}, spec, {
      title: 'Resident memory by kind', stacked: true,
      series: KINDS.map(([, label, colour]) => ({ label, colour })),
      info: ['Anonymous: heaps and stacks. File: mapped files, which the ' +
        'kernel can read again. Shared: shm and tmpfs. Swap lies above, and ' +
        'is not in memory.', 'Processes of a service that share pages count ' +
        'them once each; PSS, beside it, divides them.'] })),
    ns.card.chart(Object.assign({}, spec, {
      title: 'Live and fragmentation',
      series: [
        { label: 'live (in use)', colour: '--series-3', optional: true,
          fill: true },
        { label: 'resident, anonymous', colour: '--series-2',
          optional: true },
        { label: 'fragmentation', colour: '--series-5', optional: true },
        { label: 'PSS', colour: '--series-mute', dash: [5, 4],
          optional: true },
        { label: 'allocated, as it says itself', colour: '--series-1',
          dash: [2, 3], optional: true }],
      info: ['Live is what the program has allocated and not freed, by its ' +
        'heap profile. Fragmentation is what is resident without a file ' +
        'beyond that: free memory that the allocator keeps, its own ' +
        'tables, stacks of threads, pages that are only partly in use, and ' +
        'what a program maps itself, which no heap profile has (V8, Python). ' +
        'Between two pulls the live line stays where it was.',
      'PSS: resident, with each shared page divided by how many share it. ' +
        'It is read once a minute, and stands until it is read again.',
      'Where the program tells Prometheus what its allocator holds ' +
        '(jemalloc, tcmalloc, malloc_info, Go), that is a line of its own, ' +
        'and fragmentation is by it where there is no heap profile.' ] }))];
  }

  function create() {
    const [stack, lines] = cards();
    const read = h('p', { class: 'stat-note', hidden: true });
    lines.node.append(read);
    const node = h('div', { class: 'profile-lines' }, stack.node,
      lines.node);

    /* r: the answers to queries(); leaks: of api/v1/leaks, or null. */
    function show(r, leaks, ctx) {
      const of = kinds(r, ctx.service), results = Object.values(r);
      stack.show(ctx.range, KINDS.map(([kind]) => of[kind]), results);
      const told = ctx.service ? own(r.own.cols) : null;
      const [live, rest] = heap(leaks, of.anonymous, told);
      const when = ctx.service ? readAt(r.read.cols, of.proportional) : '';
      ns.dom.say(read, when);
      read.hidden = !when;
      lines.show(ctx.range, [live, of.anonymous, rest, of.proportional, told],
        results);
    }
    return { node, show };
  }

  ns.resident = { create, queries, kinds, heap, own, spread, readAt };
})(globalThis.MemLens = globalThis.MemLens || {});
