/*
 * The view state and its form in the address bar, versioned.  Pure.  Only
 * what differs from the default is written, so that a fresh page has a short
 * address; unknown keys are dropped, and so are bad values, which are told.
 */
(function (ns) {
  'use strict';

  const VERSION = 1;
  /* Of every page: what it may be is a list, the first of which is the
   * default; an expression; or 'time', where "" is none. */
  const PAGE = { tab: ns.views.IDS, service: /^/, from: 'time',
    until: 'time' };
  const MODE = { mode: ['auto', 'offline'] };
  const KEYS = Object.assign({}, PAGE, ...ns.views.LIST.map((v) => v.keys),
    MODE);
  const START = { from: 'now-1h', until: 'now' };

  function valid(name, text) {
    const may = KEYS[name];
    return Array.isArray(may) ? may.includes(text)
      : may !== 'time' ? may.test(text)
        : text === '' && !Object.hasOwn(START, name) ||
          Number.isFinite(ns.time.parse(text, 0));
  }

  function defaults() {
    return Object.assign(Object.fromEntries(Object.entries(KEYS).map(
      ([name, may]) => [name, Array.isArray(may) ? may[0] : ''])), START);
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
    if (params.has('tab'))
      params.set('tab', ns.views.today(params.get('tab')));
    for (const name of Object.keys(KEYS).filter((n) => params.has(n)))
      (valid(name, params.get(name)) ? state : bad)[name] = params.get(name);
    for (const [a, b] of PAIRS)
      if (Object.hasOwn(bad, a) || Object.hasOwn(bad, b))
        for (const name of [a, b])
          state[name] = defaults()[name];
    return state;
  }

  function serialise(state) {
    const params = new URLSearchParams({ v: String(VERSION) });
    for (const [name, value] of Object.entries(defaults()))
      if (state[name] !== undefined && String(state[name]) !== value)
        params.set(name, state[name]);
    return '?' + params.toString();
  }

  ns.urlState = { VERSION, defaults, parse, problems, serialise };
})(globalThis.MemLens = globalThis.MemLens || {});
