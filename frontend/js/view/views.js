/*
 * The views of the dashboard, a row each, in the order of their tabs.  Tabs,
 * keys, the address, the range bar, the recording of the demo and the tests
 * read this table: a new view is a row here and the file of its module.
 *
 *   id        in the address, and of its tab and panel
 *   was       what addresses of before call it
 *   title     of its tab
 *   module    create(root) of it gives {refresh(ctx), arrange(state) shows
 *             what needs no new answer, search: the box that "/" goes to}
 *   ranged    shows a service over a range: with the bar of both, following
 *   series    modules whose queries(service) it asks of api/v1/series
 *   heat      a module with KINDS of heat maps, and queryOf(kind, service)
 *   profiles  whether it asks for profiles, and where functions were written
 *   answers   other routes that it asks, [[route, params]]
 *   of        (service) => those that it asks of a service
 *   keys      of the address, its own: {name: what it may be}, see url-state
 *   asks      what its answers depend on: keys, or functions of the state
 *   help      [[where, what the keyboard does there]]; `Key`s in backquotes
 */
(function (ns) {
  'use strict';

  const ANY = /^/;
  const RANGE = ['service', 'from', 'until'];
  const PAIR = { afrom: 'time', auntil: 'time', base: ['', 'ends'],
    aservice: ANY, ainstance: ANY, instance: ANY, requests: ANY };
  const PAIRED = ['afrom', 'auntil', 'base', 'aservice', 'ainstance',
    'requests'];
  /* The card of a profile, in whichever view. */
  const PROFILE = { type: ANY, search: ANY,
    view: ['both', 'table', 'flame', 'sandwich', 'compare'],
    focus: ANY, ignore: ANY, collapse: ['', 'module'],
    reverse: ['', '1'], ...PAIR,
    normalise: ['', 'total', 'time', 'requests'],
    moved: ['difference', 'name', 'self', 'total', 'total-difference'],
    grow: ['down', 'up'],
    sort: ['self', 'name', 'total', '-name', '-self', '-total'],
    fn: ANY, places: ['', '1'], zoom: /^[0-9a-z.]*$/ };
  const PROFILED = ['type', 'instance', 'normalise', ...PAIRED, 'focus', 'ignore',
    'collapse', 'reverse', (s) => s.view === 'compare'];
  const FLAME_HELP = ['on the flame graph', 'arrows walk the frames, ' +
    '`Enter` zooms, `Esc` zooms out, `Shift F10` opens the menu'];
  const DEPTHS = ['2', '3', '4', 'all'];

  const LIST = [
    { id: 'memory', title: 'Memory Tracker', module: 'memoryTab',
      ranged: true, series: ['storage', 'operations', 'disk', 'host'],
      keys: { ops: ANY, instance: ANY, q: ['0.99', '0.5', '0.9', '0.999'],
        device: ANY, net: ANY },
      asks: [...RANGE, 'device', 'net', 'ops', 'q', 'instance'],
      help: [['in the playground', '`↑` `↓` history, `Tab` completes, ' +
        '`Ctrl L` clears']] },
    { id: 'profiles', was: 'cpu', title: 'Profiles', module: 'profilesTab',
      ranged: true, series: ['profilesTab', 'latency'], profiles: true,
      heat: 'latency',
      keys: { ...PROFILE, heat: ANY, reason: ANY, idle: ['', '1'],
        band: /^([0-9.e+-]+~[0-9.e+-]+)?$/ },
      asks: [...RANGE, ...PROFILED, 'reason', 'heat', 'band', 'idle'],
      help: [['on the heat map', 'arrows walk the cells, `Shift` selects, ' +
        '`Enter` takes what is selected'], FLAME_HELP] },
    { id: 'heap', title: 'Memory', module: 'heapTab',
      ranged: true, series: ['resident'], profiles: true,
      of: (service) => [['leaks', { service }]],
      keys: PROFILE, asks: [...RANGE, ...PROFILED],
      help: [FLAME_HELP] },
    { id: 'runs', title: 'Runs', module: 'runsTab',
      ranged: true, answers: [['runs', {}]],
      keys: { search: ANY, ...PAIR,
        show: ['all', 'better', 'worse', 'moved'] },
      asks: [...RANGE, 'instance', ...PAIRED] },
    { id: 'deps', title: 'Dependencies', module: 'depsTab', ranged: true,
      answers: DEPTHS.slice(0, 3).flatMap((depth) => [
        ['graph.json', { depth }], ['graph.svg', { depth }]]),
      keys: { depth: DEPTHS, target: ANY, node: ANY, packages: ['', '1', '0'],
        least: ['', '0.1', '1', '10'], diff: ['', '1'], start: ANY, of: ANY,
        ...PAIR },
      asks: [...RANGE, ...PAIRED, 'type', 'depth', 'target', 'packages',
        'node', 'diff', 'of'],
      help: [['on the dependency graph', 'arrows move, `+` `−` zoom, `0` ' +
        'shows all, `Tab` walks the nodes, `Enter` chooses one']] },
    { id: 'services', title: 'Services', module: 'servicesTab',
      ranged: true, series: ['servicesTab'], answers: [['runs', {}]],
      keys: { others: ['', '1'] }, asks: ['from', 'until'] }
  ];

  const today = (id) => (LIST.find((v) => v.was === id) || { id }).id;
  const of = (id) => LIST.find((v) => v.id === id);

  /* The answers of a view depend on this of a state, and nothing else. */
  function question(state) {
    return JSON.stringify([state.tab, ...of(state.tab).asks.map((k) =>
      (typeof k === 'function' ? k(state) : state[k]))]);
  }

  ns.views = { LIST, DEPTHS, IDS: LIST.map((v) => v.id), of, today,
    question };
})(globalThis.MemLens = globalThis.MemLens || {});
