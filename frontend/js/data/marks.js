/*
 * What happened in the range that is shown, as charts mark it: programs that
 * began and ended, targets that fell silent, the daemon's own starts and
 * stops, and what people have told.
 */
(function (ns) {
  'use strict';

  /* what: [its words, its colour]; how one has ended the server says. */
  const KINDS = {
    ended: ['ended', '--bad'],
    stopped: ['was stopped', '--warn'],
    fewer: ['ended', '--warn'],
    began: ['began', '--ok'],
    listens: ['listens', '--ok'],
    'target-down': ['does not answer', '--bad'],
    'target-up': ['answers again', '--ok'],
    fault: ['fault', '--warn'],
    note: ['note', '--accent'],
    memlensd: ['memlensd', '--series-mute']
  };
  const LIMIT = 500, listeners = [];
  let list = [], leftOut = 0;

  /* "kv: kv_service (pid 7) ended", "fault: kill -9 7".  Pure. */
  function words({ what, text, service, end }) {
    const verb = end || (KINDS[what] || [what])[0];
    const of = service ? service + ': ' : '';
    const [, pid, name] = /* a port says more than a number */
      /^(\d+) (.*?)(?: \((?:signal|status) \d+\))?$/.exec(
        text.replace(/( :\d+) #\d+\b/, '$1')) || [];
    if (['began', 'listens', 'ended', 'stopped', 'fewer'].includes(what))
      return of + (pid ? name + ' (pid ' + pid + ')' : text) + ' ' + verb;
    if (what === 'target-down' || what === 'target-up') {
      const at = text.indexOf(': ');
      const target = at < 0 ? text : text.slice(0, at);
      return (target === service ? '' : of) + 'target ' + target + ' ' +
        verb + (at < 0 ? '' : text.slice(at));
    }
    return of + verb + ': ' + text;
  }

  const colour = (m) => (KINDS[m.what] || ['', '--text-muted'])[1];

  /* Those within `reach` seconds of a time, the nearest first.  Pure. */
  function near(marks, t, reach) {
    return marks.filter((m) => Math.abs(m.time - t) <= reach)
      .sort((a, b) => Math.abs(a.time - t) - Math.abs(b.time - t));
  }

  function set(answer) {
    list = answer.marks || [];
    leftOut = answer.left_out || 0;
    for (const f of listeners)
      f(list);
  }

  /* One failing spoils no view: charts are without marks then. */
  async function load({ range, service, signal }) {
    try {
      set(await ns.api.get('marks', { from: range.from, until: range.until,
        what: Object.keys(KINDS).join(','), service: service || undefined,
        limit: LIMIT }, { signal }));
    } catch (e) {
      if (e.name === 'AbortError')
        throw e;
      set({});
    }
  }

  ns.marks = { words, colour, near, load, all: () => list,
    leftOut: () => leftOut, on: (f) => listeners.push(f) };
})(globalThis.MemLens = globalThis.MemLens || {});
