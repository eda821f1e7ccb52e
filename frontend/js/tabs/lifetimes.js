/*
 * Lifetimes: how much of what a service allocates is given back within its
 * slot, by pool of threads and by stack.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const F = ns.format;
  const INFO = ['Short-lived is what is given back within the slot in which ' +
    'it was allocated, 10 seconds by default: work for the allocator, and ' +
    'none for memory. Kept is the rest, which outlives its slot.',
  'Both come from the library that memlens run loads; heap profiles that are ' +
    'pulled do not know them.'];

  const share = (r) => (r.allocated > 0 ? F.percent(r.short / r.allocated)
    : '–');

  /* What is missing in it: records that were lost, and processes that have no
   * library.  Pure. */
  function lacks(a) {
    const lost = ns.flameFacts.lostText(a.lost, a.faults === 'service' &&
      a.lost_on_host);
    const seen = ns.flameFacts.observedText(a);
    return (lost.length ? ' Lost, and in none of it: ' + lost.join(', ') +
      ns.flameFacts.lostAmount({ ...a, unit: 'bytes' }) + '.' : '') +
      (seen ? ` It is ${seen.text.replace('observed: ', '')} that is ` +
        'observed.' : '');
  }

  /* What is said of all together; '' where nothing is known.  Pure. */
  function words(a) {
    if (a && a.incomplete && !(a.allocated > 0))
      return 'Nothing was seen.' + lacks(a);
    if (!a || a.state !== 'data' || a.short === null)
      return '';
    if (!(a.allocated > 0))
      return 'Nothing was allocated.' + lacks(a);
    return `${F.bytes(a.allocated / a.seconds)}/s allocated` +
      (a.objects > 0 ? `, ${F.bytes(a.allocated / a.objects)} an object` : '') +
      `; ${share(a)} of it did not outlive its slot, ${F.bytes(a.kept)} did.` +
      (a.elsewhere > 0 ? ' Beside that, profiles that were pulled or pushed ' +
        `have ${F.bytes(a.elsewhere)}, whose lives are not known.` : '') +
      lacks(a);
  }

  const amounts = (r) => [F.bytes(r.allocated), share(r), F.bytes(r.kept),
    F.count(r.objects)].map((text) => h('td', { class: 'num', text }));

  function poolLine(r) {
    return h('tr', {}, h('th', { scope: 'row', text: r.pool || '(no name)' }),
      ...amounts(r));
  }

  function stackLine(r) {
    const at = ns.leaks.inner(r.stack);
    return h('tr', {}, h('th', { scope: 'row' },
      h('span', { class: 'leak-name', title: r.stack.join('\n'),
        text: r.stack[at] }),
      h('span', { class: 'leak-path', text: [r.pool, ns.leaks.where(r.stack,
        at)].filter(Boolean).join(': ') })), ...amounts(r));
  }

  function table(what, label) {
    const body = h('tbody');
    const node = h('div', { class: 'table-scroll', tabindex: '0',
      role: 'region', 'aria-label': label },
    h('table', { class: 'data-table life-table' },
      h('caption', { class: 'visually-hidden', text: label }),
      h('thead', {}, h('tr', {}, h('th', { scope: 'col', text: what }),
        ['Allocated', 'Short-lived', 'Kept', 'Objects'].map((text) =>
          h('th', { scope: 'col', class: 'num', text })))), body));
    return { node, body };
  }

  function create() {
    const said = h('p', { class: 'life-words' });
    const pools = table('Pool', 'Lifetimes by pool of threads');
    const stacks = table('Stack', 'Lifetimes by stack');
    const node = h('article', { class: 'card leak-card', hidden: true,
      'aria-label': 'Lifetimes' }, h('header', { class: 'card-head' },
      h('h3', { class: 'card-title', text: 'Lifetimes' }),
      ns.dom.infoButton('Lifetimes', INFO)), said, pools.node, stacks.node);

    /* The answer of api/v1/lifetimes, or null. */
    function show(a) {
      const text = words(a);
      node.hidden = text === '';
      ns.dom.say(said, text);
      if (text === '')
        return;
      pools.body.replaceChildren(...a.pools.map(poolLine));
      stacks.body.replaceChildren(...a.stacks.map(stackLine));
    }
    return { node, show };
  }

  ns.lifetimes = { create, words };
})(globalThis.MemLens = globalThis.MemLens || {});
