/*
 * How a program that tells nothing of its heap is made to: by the allocators
 * that its processes have mapped, as the series namedprocess_namegroup_allocator counts
 * them.  Pure.
 */
(function (ns) {
  'use strict';

  const SCRAPE = 'in memlens-scrape.conf';

  /* For each: the line that starts the program, where {command} stands for
   * it, and what has to be said to the scraper. */
  const WAYS = {
    jemalloc: { start: 'MALLOC_CONF=prof:true,lg_prof_sample:19,' +
      'lg_prof_interval:30,prof_prefix:/var/lib/{service}/jp {command}',
    pull: 'dumps = /var/lib/{service}/jp',
    note: 'of a jemalloc that was built with --enable-prof' },
    tcmalloc: { start: 'HEAPPROFILE=/var/lib/{service}/hp {command}',
      pull: 'dumps = /var/lib/{service}/hp',
      note: 'with gperftools’ libtcmalloc; a program that serves ' +
        '/pprof/heap needs no more than profile = URL' }
  };
  /* Whatever it has: our own sampling, below malloc(). */
  const ANY = { start: 'memlens run -- {command}', pull: '', note: 'which ' +
    'preloads libmemlens-alloc.so; in a unit it is a line ' +
    'Environment=LD_PRELOAD= with its path' };
  const GO = '. A program in Go serves its own: profile = ' +
    'http://HOST:PORT/debug/pprof/heap in memlens-scrape.conf';

  const fill = (text, { service, command }) => text
    .replaceAll('{service}', service.replace(/[^\w.-]/g, '_'))
    .replaceAll('{command}', command);

  /*
   * {found: text, start: line, pull: lines or '', where, note} for a service
   * of these allocators (names, of most processes first).
   */
  function advice(names, who) {
    const known = names.find((n) => WAYS[n]);
    const found = names.length ? 'Its allocator is ' + names.join(' and ') +
      '.' : 'Which allocator it has is not known: no library of one is ' +
      'mapped by its processes.';
    const way = WAYS[known] || ANY;
    return { found, start: fill(way.start, who),
      note: fill(way.note, who) + (names.length ? '' : GO),
      pull: way.pull && fill(`[target {service}]\n${way.pull}`, who),
      where: way.pull ? SCRAPE : '' };
  }

  /* Names of columns of namedprocess_namegroup_allocator, of most processes first. */
  function names(cols) {
    const last = (c) => ns.series.last(c) || 0;
    return cols.filter((c) => last(c) > 0).sort((a, b) => last(b) - last(a))
      .map((c) => c.labels.allocator);
  }

  ns.allocators = { advice, names };
})(globalThis.MemLens = globalThis.MemLens || {});
