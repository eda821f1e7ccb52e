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
        '/pprof/heap needs no more than profile = URL' },
    go: { start: '', pull: 'profile = http://127.0.0.1:6060' +
      '/debug/pprof/heap', note: 'A program in Go serves its heap where it ' +
      'imports net/http/pprof: say where' },
    java: { start: 'JAVA_TOOL_OPTIONS=-javaagent:/opt/pyroscope.jar ' +
      'PYROSCOPE_FORMAT=jfr PYROSCOPE_PROFILER_ALLOC=512k ' +
      'PYROSCOPE_APPLICATION_NAME={service} ' +
      'PYROSCOPE_SERVER_ADDRESS={origin} {command}', pull: '',
    note: 'with the agent from github.com/grafana/pyroscope-java, which ' +
        'pushes what Java code allocates' },
    static: { start: '', pull: '', note: 'It is linked statically, so ' +
      'nothing can be put below its malloc(): link it with jemalloc or ' +
      'gperftools, or look at the memory that it touches (growth), below' }
  };
  /* Whatever it has: our own sampling, below malloc(). */
  const ANY = { start: 'memlens run -- {command}', pull: '', note: 'which ' +
    'preloads libmemlens-alloc.so; in a unit it is a line ' +
    'Environment=LD_PRELOAD= with its path' };
  /* How the kinds are called that are no library's. */
  const CALLED = { go: 'Go’s own', java: 'Java’s own', static: 'in the ' +
    'program itself' };

  const fill = (text, { service, command, origin }) => text
    .replaceAll('{service}', service.replace(/[^\w.-]/g, '_'))
    .replaceAll('{command}', command).replaceAll('{origin}', origin);

  /*
   * {found: text, start: line or '', pull: lines or '', where, note} for a
   * service of these allocators (names, of most processes first).
   */
  function advice(names, who) {
    const known = names.find((n) => WAYS[n]);
    const found = names.length ? 'Its allocator is ' + names.map((n) =>
      CALLED[n] || n).join(' and ') + '.' : 'Which allocator it has is not ' +
      'known: its processes have not been looked at, or map no library of ' +
      'one.';
    const way = WAYS[known] || ANY;
    return { found, start: fill(way.start, who),
      note: fill(way.note, who),
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
