/*
 * Leak suspects: which stacks hold more and more, each with its line, and a
 * click to the difference that shows it; and when memory ends.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const F = ns.format;
  const INFO = ['Stacks whose bytes in use grow through the range, the ' +
    'steepest first. The rate is the median of the slopes between all pairs ' +
    'of moments (Theil and Sen), which a burst does not move; beside it the ' +
    'interval that holds the true one with 95 %, also by what samples of a ' +
    'heap err. Where it has changed, both are of late.',
  'What has stopped growing, as a cache that is full, is no suspect. ' +
    'Where there is no heap profile, code that touches memory anew is shown ' +
    'while the process grows: it may give it back in other ways.'];
  const NO_HEAP = 'There is no heap profile: ';
  const UNSEEN = 'What grows is not in the heap profile, as memory that a ' +
    'program maps itself (V8, Python and others do): ';
  const NOT_TOLD = 'which code touches it is not known.';
  const TOUCHED = 'these stacks touch memory anew while what is resident ' +
    'grows; what was given back is not known.';
  const RESIDENT = 'only what is resident is known.';

  /* Bytes a second and its interval, in a time that people wait for. */
  function rates({ slope, slope_low: low, slope_high: high }) {
    const [by, word] = Math.abs(slope) * 60 >= 2 ** 20 ? [60, '/min']
      : [3600, '/h'];
    return [slope, low, high].map((v) => F.bytes(v * by) + word);
  }

  const RATES = { total: 'this rate', resident: 'the rate of resident memory',
    suspects: 'the rate of the stacks below' };

  function grows(what, trend) {
    const [rate, low, high] = rates(trend);
    return `${what} grows by ${rate} (${low} to ${high}).`;
  }

  /* How all of it grows; never that it does not above stacks that do.  Pure. */
  function whole(a) {
    const what = a.heap ? 'Memory in use' : 'Resident memory';
    const trend = a.heap ? a.total : a.resident;
    if (trend.state === 'growing')
      return [grows(what, trend)];
    if (trend.state === 'unknown')
      return [];
    if (!a.heap || !a.suspects.length)
      return [what + ' does not grow.'];
    return [what + ' as a whole goes up and down by more than it grows; ' +
      (a.suspects.length === 1 ? 'one stack of it grows.'
        : F.count(a.suspects.length) + ' stacks of it grow.'),
    ...(a.resident.state === 'growing' ? [grows('Resident memory',
      a.resident)] : [])];
  }

  /* How often the heap is sampled; null: nobody has told.  Pure. */
  function sampled(bytes) {
    return bytes === 1 ? 'Every allocation is counted.'
      : bytes ? `The heap has one sample in ${F.bytes(bytes)}.`
        : 'How often the heap is sampled is not told; intervals are by one ' +
          'sample in 512 KiB, which is usual.';
  }

  /* Older recordings do not tell. */
  function latest({ latest: at }) {
    return at ? ', at the latest ' + F.dateTime(at)
      : at === null ? ', and it may be that it does not' : '';
  }

  /* What is said of all together, in sentences.  Pure. */
  function words(a) {
    const out = [], { memory_ends: end } = a;
    if (a.unseen)
      out.push(UNSEEN + (a.heap ? NOT_TOLD : TOUCHED));
    else if (!a.heap)
      out.push(NO_HEAP + (a.suspects.length ? TOUCHED : RESIDENT));
    if (a.anew)
      out.push('MemLens began anew at ' + F.dateTime(a.anew) + ': what ' +
        'lived then is one stack since, [before MemLens started], and the ' +
        'others are judged from there on.');
    const { restarted, state, restarts } = a.heap ? a.total : a.resident;
    if (restarted && state === 'unknown' && restarts)
      out.push('Its program was restarted ' + (restarts === 1 ? 'once'
        : F.count(restarts) + ' times') + ', the last time at ' +
        F.dateTime(restarted) + ': no start of it has the 6 moments that it ' +
        'takes to tell whether it grows.');
    else if (restarted) // older recordings do not tell
      out.push('Its program was restarted at ' + F.dateTime(restarted) +
        ': what grows is judged since then, and by what the one before did.');
    out.push(...whole(a));
    if (a.lost > 0)
      out.push(F.bytes(a.lost) + ' of it came from stacks that MemLens was ' +
        'not told of: [its stack was not taken].');
    if (end)
      out.push('At ' + RATES[end.by] + ' the memory of the ' + end.of + ' (' +
        F.bytes(end.available) + ' left) ends in ' + F.duration(end.seconds) +
        ', at ' + F.dateTime(end.at) + '; at the earliest ' +
        F.dateTime(end.earliest) + latest(end) + '.');
    if (a.plateaus > 0)
      out.push(F.count(a.plateaus) + (a.plateaus === 1 ? ' stack has'
        : ' stacks have') + ' grown and stopped: no suspects.');
    if (a.with_load > 0)
      out.push(F.count(a.with_load) + (a.with_load === 1 ? ' follows'
        : ' follow') + ' the load: no suspects.');
    if (a.unknown > 0) // older recordings do not tell
      out.push('Of ' + F.count(a.unknown) + (a.unknown === 1 ? ' stack'
        : ' stacks') + ' nothing is said: fewer than 6 steps of the range ' +
        'are of one start of its program; ask for a shorter range.');
    const seen = a.heap && ns.flameFacts.observedText(a);
    if (seen)
      out.push('It is ' + seen.text.replace('observed: ', '') +
        ' that is observed.');
    if (a.heap && a.sampling !== undefined) // older recordings
      out.push(sampled(a.sampling));
    return out.join(' ');
  }

  /* Why nothing is said of what grows.  Of a narrower range steps are shorter,
   * so that each start of the program has more. */
  const tooFew = ({ why, restarts }) => (restarts > 0 && /restarted/.test(why)
    ? 'Restarted too often to tell: between two restarts 6 moments are ' +
      'needed. A narrower range may have them.'
    : 'Too few moments to tell: 6 are needed. A wider range has more.');

  /* Why no suspect is listed.  Pure. */
  function none(a) {
    return a.by === 'no data' ? 'No data: neither a heap profile nor resident ' +
      'memory was recorded in this range.'
      : a.by === 'resident' ? 'Stacks are not known without a heap profile.'
        : a.total.state === 'unknown' ? tooFew(a.total)
          : a.anew ? 'No stack surely grows since MemLens began anew. ' +
            'For those before, choose a range that ends there.'
            : 'No stack grows in this range.';
  }

  /* What says nothing of who asked: sizes and states in brackets, the
   * allocator, and what the C++ library does for its containers. */
  const INSIDE = new RegExp('^(\\[|(operator new|malloc|calloc|realloc|' +
    'aligned_alloc|posix_memalign|memalign|strn?dup)\\b|' +
    '([\\w&* ]+ )?(std|__gnu_cxx)::)');

  /* The innermost function of the program: whoever asked for memory.  Pure. */
  function inner(stack) {
    const k = stack.findLastIndex((name) => !INSIDE.test(name));
    const bare = stack.findLastIndex((name) => name[0] !== '[');
    return k > 0 ? k : bare < 0 ? stack.length - 1 : bare;
  }

  /* The shown difference: of its type, the end of the range against its
   * beginning, with the stack's function marked. */
  function difference(a, s) {
    ns.view.set({ view: 'compare', type: a.by, base: 'ends', afrom: '',
      auntil: '', normalise: 'time', search: s.stack[inner(s.stack)],
      zoom: '' });
    document.querySelector('#panel-heap .flame-card')
      .scrollIntoView({ block: 'start' });
  }

  const age = (s) => (s.age === null || s.age === undefined ? '–'
    : (s.age_at_least ? '≥ ' : '') + F.duration(s.age));

  /* What it called to allocate, and who called it.  Pure. */
  const where = (stack, at) => [...stack.slice(at + 1).map((down) => '→ ' +
    down), ...stack.slice(0, at).reverse().map((up) => '← ' + up)].join(' ');

  function line(a, s) {
    const spark = ns.spark.create();
    spark.set({ v: s.points.map((p) => p[1]) }, 0);
    const at = inner(s.stack), name = s.stack[at];
    const [rate, low, high] = rates(s);
    const path = where(s.stack, at);
    return h('tr', {},
      h('th', { scope: 'row' }, h('span', { class: 'leak-name', title:
        s.stack.join('\n'), text: name }), h('span', { class: 'leak-path',
        text: path })),
      h('td', { class: 'leak-spark' }, spark.node),
      h('td', { class: 'num' }, rate, h('span', { class: 'leak-interval',
        text: `${low} – ${high}` })),
      h('td', { class: 'num', text: F.bytes(s.gained) }),
      h('td', { class: 'num', text: a.heap ? F.bytes(s.last) : '–' }),
      h('td', { class: 'num', text: age(s) }),
      h('td', {}, h('button', { type: 'button', class: 'button',
        'aria-label': 'Show the difference of ' + name, text: 'Difference',
        onclick: () => difference(a, s) })));
  }

  const COLUMNS = [['Stack'], ['Over the range'], ['Rate', 'num'],
    ['Gained', 'num'], ['In use now', 'num'], ['Oldest', 'num'],
    ['Show']];

  function create() {
    const said = h('p', { class: 'leak-words' });
    const body = h('tbody');
    const table = h('div', { class: 'table-scroll', tabindex: '0',
      role: 'region', 'aria-label': 'Leak suspects' },
    h('table', { class: 'data-table leak-table' },
      h('caption', { class: 'visually-hidden',
        text: 'Stacks that hold more and more' }),
      h('thead', {}, h('tr', {}, COLUMNS.map(([text, of]) => h('th', {
        scope: 'col', class: of, text })))), body));
    const empty = h('p', { class: 'leak-empty', text: 'Loading…' });
    const node = h('article', { class: 'card leak-card', 'aria-label':
      'Leak suspects' }, h('header', { class: 'card-head' }, h('h3', {
      class: 'card-title', text: 'Leak suspects' }),
    ns.dom.infoButton('Leak suspects', INFO)), said, table, empty);

    /* The answer of api/v1/leaks; or null, and why there is none. */
    function show(a, why) {
      const list = a ? a.suspects : [];
      ns.dom.say(said, a ? words(a) : '');
      said.hidden = !a;
      ns.dom.say(empty, a ? none(a) : why);
      empty.hidden = list.length > 0;
      table.hidden = list.length === 0;
      body.replaceChildren(...list.map((s) => line(a, s)));
    }
    return { node, show };
  }

  ns.leaks = { create, words, none, rates, inner, where };
})(globalThis.MemLens = globalThis.MemLens || {});
