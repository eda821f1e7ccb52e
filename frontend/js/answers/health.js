/*
 * What api/v1/health means for the person at the screen.  Pure.  The server
 * judges itself; what it cannot know (that nobody writes any more, or that
 * this answer is old) is judged here from the age of the newest slot.
 */
(function (ns) {
  'use strict';

  /*
   * A slot is visible 2 s after its end.  So many slots without a new one
   * are suspicious, and so many are the end; short slots get some seconds.
   */
  const SLOT_S = 10, STALE_SLOTS = 2.5, DEAD_SLOTS = 6, LEAST_S = 5;
  const LEVELS = ['ok', 'degraded', 'down'];

  function worse(a, b) {
    return LEVELS.indexOf(a) >= LEVELS.indexOf(b) ? a : b;
  }

  function sum(counts) {
    return Object.values(counts || {})
      .reduce((a, b) => a + (Number(b) || 0), 0);
  }

  function sources(health, now) {
    return (health.sources || []).map((s) => {
      const last = ns.time.parse(s.last, now);
      return { name: s.name, state: s.state || 'unknown',
        detail: s.why || s.detail || '',
        last, age: Number.isFinite(last) ? Math.max(0, now - last) : null,
        samples: s.samples === undefined ? null : s.samples,
        lost: s.lost || {}, lostTotal: sum(s.lost),
        lostBytes: sum(s.lost_bytes), // of memory
        broken: s.broken || {}, brokenTotal: sum(s.broken) };
    });
  }

  /* The state of a source, as "attached"; '' where it is off or not known. */
  function enabled(judged, name) {
    const of = judged && judged.sources.find((s) => s.name === name);
    return of && of.state !== 'off' ? of.state : '';
  }

  /* The server's own words, wherever it put them. */
  function stated(why) {
    if (Array.isArray(why))
      return why.map(String);
    return why ? String(why).split('; ') : [];
  }

  /*
   * {level, reasons, stopped, age, lost, sources, version}; age is that of the
   * newest data in seconds, null when there is none; stopped: what was, on
   * purpose.
   */
  function judge(health, now) {
    const store = health.store || {};
    const until = ns.time.parse(store.until, now);
    const slot = Number(store.slot) || SLOT_S;
    const list = sources(health, now);
    const reasons = stated(health.reason || health.why);
    let level = LEVELS.includes(health.status) ? health.status : 'degraded';
    const age = Number.isFinite(until) && until > 0
      ? Math.max(0, now - until) : null;
    if (age === null) {
      level = worse(level, 'degraded');
      if (!reasons.some((r) => /empty|store/.test(r)))
        reasons.push('the store is empty');
    } else if (age > Math.max(LEAST_S, STALE_SLOTS * slot)) {
      level = worse(level, age > DEAD_SLOTS * slot ? 'down' : 'degraded');
      reasons.unshift('the collector has written nothing for ' +
        ns.format.duration(age));
    }
    return { level, reasons: [...new Set(reasons)], age, sources: list,
      stopped: stated(health.stopped),
      lost: list.reduce((n, s) => n + s.lostTotal, 0),
      version: health.version || '', store, self: health.self || {} };
  }

  ns.health = { judge, enabled };
})(globalThis.MemLens = globalThis.MemLens || {});
