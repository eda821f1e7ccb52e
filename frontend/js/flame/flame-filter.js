/*
 * What the profile is of: only stacks with a match (focus), without one
 * (ignore), modules as one frame, read from the leaves.  The server does
 * it; each choice is a chip that can be taken away.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const CHIPS = [['focus', 'only '], ['ignore', 'without '],
    ['collapse', 'modules as one'], ['reverse', 'from the leaves'],
    ['instance', 'instance ']];
  const VALUED = ['focus', 'ignore', 'instance'];

  function field(name, label, hint) {
    const input = h('input', { type: 'text', class: 'text-input', name,
      spellcheck: 'false', placeholder: hint });
    return { input, node: h('label', { class: 'filter-field' },
      h('span', { text: label }), input) };
  }

  function box(name, label) {
    const input = h('input', { type: 'checkbox', name });
    return { input, node: h('label', { class: 'filter-check' }, input,
      label) };
  }

  function form(pop) {
    const state = ns.view.get();
    const focus = field('focus', 'Only stacks with', 'leveldb::|malloc');
    const ignore = field('ignore', 'Without stacks with', 'futex|epoll');
    const collapse = box('collapse', 'One frame for each module');
    const reverse = box('reverse', 'From the leaves: who is it that calls?');
    focus.input.value = state.focus;
    ignore.input.value = state.ignore;
    collapse.input.checked = state.collapse === 'module';
    collapse.input.disabled = ns.mode.current !== 'live';
    reverse.input.checked = state.reverse === '1';
    const patch = () => ({ focus: focus.input.value.trim(),
      ignore: ignore.input.value.trim(),
      collapse: collapse.input.checked ? 'module' : '',
      reverse: reverse.input.checked ? '1' : '', zoom: '' });
    return h('form', { class: 'filter-form', onsubmit: (e) => {
      e.preventDefault();
      pop.hidePopover();
      ns.view.set(patch());
    } }, focus.node, ignore.node, h('p', { class: 'muted', text:
      'Regular expressions: ^read|write$, \\d, (?i).' }), collapse.node,
    reverse.node, h('div', { class: 'form-buttons' },
      h('button', { type: 'submit', class: 'button button-primary',
        text: 'Show' }),
      h('button', { type: 'button', class: 'button', text: 'Clear',
        onclick: () => {
          pop.hidePopover();
          clear();
        } })));
  }

  function clear() {
    ns.view.set({ focus: '', ignore: '', collapse: '', reverse: '',
      zoom: '' });
  }

  function create() {
    const button = h('button', { type: 'button', class: 'button' },
      ns.dom.icon('filter'), 'Filter');
    ns.dom.popover(button, (pop) => pop.replaceChildren(form(pop)),
      'Filter the stacks');
    const chips = h('div', { class: 'chips', hidden: true });

    function show(state) {
      const list = CHIPS.filter(([key]) => (key === 'instance'
        ? ns.runs.instance(state) : state[key]));
      chips.hidden = list.length === 0;
      chips.replaceChildren(...list.map(([key, words]) => {
        const text = words + (VALUED.includes(key) ? state[key] : '');
        return h('button', { type: 'button', class: 'chip',
          'aria-label': 'Remove: ' + text,
          onclick: () => ns.view.set({ [key]: '', zoom: '' }) },
        h('span', { class: 'chip-text', text }),
        h('span', { 'aria-hidden': 'true', text: '×' }));
      }));
    }
    return { button, chips, show };
  }

  /* The parameters of the request that the state asks for, beside its
   * selector. */
  function params(state) {
    const out = {};
    for (const [key] of CHIPS)
      if (state[key] && key !== 'instance')
        out[key] = state[key];
    return out;
  }

  ns.flameFilter = { create, params, KEYS: CHIPS.map(([key]) => key) };
})(globalThis.MemLens = globalThis.MemLens || {});
