/*
 * The view state and its form in the address bar, versioned.  Pure.  Only
 * what differs from the default is written, so that a fresh page has a short
 * address; unknown keys are dropped, and so are bad values, which are told.
 */
(function (ns) {
  'use strict';

  const VERSION = 1;
  const TABS = ['memory', 'cpu', 'runs', 'deps'];
  const any = () => true;
  const among = (...list) => (v) => list.includes(v);
  const time = (v) => Number.isFinite(ns.time.parse(v, 0));
  const maybe = (v) => v === '' || time(v);

  /* name, default, check */
  const KEYS = [
    ['tab', 'memory', among(...TABS)],
    ['service', '', any],
    ['from', 'now-1h', time],
    ['until', 'now', time],
    ['search', '', any],
    ['view', 'both', among('both', 'table', 'flame', 'sandwich', 'compare')],
    ['focus', '', any],
    ['ignore', '', any],
    ['collapse', '', among('', 'module')],
    ['reverse', '', among('', '1')],
    ['afrom', '', maybe],
    ['auntil', '', maybe],
    ['normalise', 'total', among('total', 'time', 'requests')],
    ['requests', '', any],
    ['moved', 'difference', among('name', 'self', 'total', 'difference',
      'total-difference')],
    ['show', 'all', among('all', 'better', 'worse', 'moved')],
    ['grow', 'down', among('down', 'up')],
    ['sort', 'self', among('name', 'self', 'total', '-name', '-self',
      '-total')],
    ['fn', '', any],
    ['places', '', among('', '1')],
    ['zoom', '', (v) => /^[0-9a-z.]*$/.test(v)],
    ['ops', '', any],
    ['instance', '', any],
    ['q', '0.99', among('0.5', '0.9', '0.99', '0.999')],
    ['device', '', any],
    ['net', '', any],
    ['depth', '2', among('2', '3', '4')],
    ['target', '', any],
    ['node', '', any],
    ['mode', 'auto', among('auto', 'offline')]
  ];

  function defaults() {
    return Object.fromEntries(KEYS.map(([name, value]) => [name, value]));
  }

  /* Older versions are brought up step by step; there is one so far. */
  const UPGRADES = [];

  /* Half a range is none. */
  const PAIRS = [['from', 'until', 'last hour'], ['afrom', 'auntil',
    'range before']];

  /* What of the address could not be understood, in words. */
  function problems(bad) {
    return Object.entries(bad).map(([name, text]) => {
      const pair = PAIRS.find((p) => p.includes(name));
      return pair ? `“${text}” (${name}) in the address of this page is no ` +
        `time that MemLens knows: the ${pair[2]} stands in its place.`
        : `“${text}” (${name}) in the address of this page is not known, ` +
        'and left out.';
    });
  }

  /* bad: takes what could not be understood, {name: text}. */
  function parse(search, bad = {}) {
    const params = new URLSearchParams(search);
    const version = Number(params.get('v')) || VERSION;
    for (let v = version; v < VERSION; v++)
      UPGRADES[v](params);
    const state = defaults();
    for (const [name, , valid] of KEYS.filter(([n]) => params.has(n)))
      (valid(params.get(name)) ? state : bad)[name] = params.get(name);
    for (const [a, b] of PAIRS)
      if (Object.hasOwn(bad, a) || Object.hasOwn(bad, b))
        for (const name of [a, b])
          state[name] = defaults()[name];
    return state;
  }

  function serialise(state) {
    const params = new URLSearchParams({ v: String(VERSION) });
    for (const [name, value] of KEYS)
      if (state[name] !== undefined && String(state[name]) !== value)
        params.set(name, state[name]);
    return '?' + params.toString();
  }

  ns.urlState = { VERSION, TABS, defaults, parse, problems, serialise };
})(globalThis.MemLens = globalThis.MemLens || {});
