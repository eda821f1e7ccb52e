/*
 * The types of profiles, as api/v1/types tells them: {name, title, unit,
 * kind: flow or stock, time, …}, the one to show first at the head.  Nothing
 * here knows one by its name.  What the route does not list has its name for
 * a title; its unit stands in each answer.
 */
(function (ns) {
  'use strict';

  let list = [], of = '';

  /* Those of a recording that are answered for a service ('': the host). */
  function recorded(service) {
    const { profiles } = ns.mode.snapshot;
    const told = ns.mode.snapshot.answers.types;
    const names = told ? told.types.map((t) => t.name) : Object.keys(
      profiles.of).map((q) => q.split('{')[0]);
    return [...new Set(names)].filter((name) => ns.recordedProfiles.partsOf(
      profiles, selector({ name }, service)).length > 0);
  }

  /* The names of what the service has: services as ns.services.load(). */
  function namesOf(services, service) {
    if (ns.mode.current === 'offline' && ns.mode.snapshot)
      return recorded(service);
    return [...new Set(services.filter((s) => !service || s.name === service)
      .flatMap((s) => s.profiles))];
  }

  const untold = (name) => ({ name, title: name });

  /* The rows of these names in the table's order, what it lacks behind. */
  function rows(table, names) {
    return [...table.filter((t) => names.includes(t.name)),
      ...names.filter((n) => !table.some((t) => t.name === n)).map(untold)];
  }

  /* {all: what can be chosen, one: what is: `wanted`, or where nothing is
   * wanted the first; null where there is no type at all}.  Pure. */
  function choice(table, names, wanted) {
    const has = rows(table, names);
    const one = wanted ? rows(table, [wanted])[0] : has[0] || table[0] || null;
    return { all: one && !names.includes(one.name) ? [one, ...has] : has,
      one };
  }

  /* The table is asked for once, and again when something new has a
   * profile. */
  async function load(names, signal) {
    const key = ns.mode.current + ' ' + names.slice().sort().join(' ');
    if (key !== of)
      list = (await ns.api.get('types', {}, { signal })).types;
    of = key;
    return list;
  }

  /* offers(types): those that the page offers, in its order; what is wanted
   * and not of them is not meant. */
  async function choose(services, service, wanted, signal,
    offers = (types) => types) {
    const names = namesOf(services, service);
    const table = await load(names, signal);
    const offered = offers(rows(table, [...new Set([...table.map((t) =>
      t.name), ...names, ...(wanted ? [wanted] : [])])]));
    const has = (name) => offered.some((t) => t.name === name);
    return choice(offered, names.filter(has), has(wanted) ? wanted : '');
  }

  /* Those of memory, what is held before what comes, bytes before counts. */
  function ofMemory(types) {
    const place = (t) => (t.kind === 'stock' ? 0 : 2) + (t.unit !== 'bytes');
    return types.filter((t) => /^memory:/.test(t.pyroscope))
      .sort((a, b) => place(a) - place(b));
  }

  /* In a sentence: "4 s of CPU time", "12 context switches". */
  function amount(text, { title, unit }) {
    const words = /^[A-Z][a-z]/.test(title)
      ? title[0].toLowerCase() + title.slice(1) : title;
    return text + (unit === 'count' ? ' ' : ' of ') + words;
  }

  function selector({ name }, service, labels = {}) {
    return ns.request.selector(name, service
      ? Object.assign({ service }, labels) : labels);
  }

  /* How much of it is idle, of what is shown and of the other of both: all,
   * or all but that.  null: there is nothing of either. */
  function idleText(shown, other, all) {
    const [a, b] = [shown, other].map((x) => x.flamebearer.numTicks);
    const part = Math.abs(a - b), whole = Math.max(a, b);
    return whole === 0 ? null : 'Idle waits ' + (all ? 'shown' : 'hidden') +
      ': ' + ns.flameFacts.unitOf(shown).text(part) + ' (' +
      ns.format.percent(part / whole) + ')';
  }

  ns.types = { choice, choose, ofMemory, amount, selector, idleText };
})(globalThis.MemLens = globalThis.MemLens || {});
