/*
 * Small helpers for building elements, telling screen readers, copying and
 * downloading.  Text always goes in as text, never as markup, and what acts
 * in it is written out.
 */
(function (ns) {
  'use strict';

  const SVG = 'http://www.w3.org/2000/svg';

  function assign(node, props) {
    for (const [k, v] of Object.entries(props || {})) {
      if (v === null || v === undefined || v === false)
        continue;
      if (k.startsWith('on'))
        node.addEventListener(k.slice(2), v);
      else if (k === 'class')
        node.setAttribute('class', v);
      else if (k === 'text')
        say(node, v);
      else if (k === 'title' || k === 'aria-label')
        node.setAttribute(k, ns.format.visible(v));
      else if (k === 'style')
        Object.assign(node.style, v);
      else
        node.setAttribute(k, v === true ? '' : v);
    }
    return node;
  }

  function append(node, children) {
    for (const c of children.flat(Infinity))
      if (c !== null && c !== undefined && c !== false)
        node.append(typeof c === 'string' ? ns.format.visible(c) : c);
    return node;
  }

  /* Text that may hold names. */
  function say(node, text) {
    node.textContent = ns.format.visible(text);
  }

  /* h('button', {class: 'x', onclick: f}, 'text', child, …) */
  function h(tag, props, ...children) {
    return append(assign(document.createElement(tag), props), children);
  }

  function svg(tag, props, ...children) {
    return append(assign(document.createElementNS(SVG, tag), props), children);
  }

  /* One of the symbols of the page's sprite; decoration only. */
  function icon(name) {
    return svg('svg', { class: 'icon', 'aria-hidden': 'true',
      viewBox: '0 0 16 16' }, ICONS[name].map((d) => svg('path', { d })));
  }

  const ICONS = {
    info: ['M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13z',
      'M8 7.4v3.8', 'M8 4.9v.1'],
    copy: ['M5.5 5.5h8v8h-8z', 'M10.5 5.5v-3h-8v8h3'],
    check: ['M2.5 8.5l3.5 3.5 7.5-8'],
    download: ['M8 2v8', 'M4.5 6.8L8 10.3l3.5-3.5', 'M2.5 13.5h11'],
    play: ['M4.5 2.8v10.4l8.5-5.2z'],
    pause: ['M5 3v10', 'M11 3v10'],
    zoomOut: ['M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10z', 'M10.6 10.6L14 14',
      'M4.8 7h4.4'],
    zoomIn: ['M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10z', 'M10.6 10.6L14 14',
      'M4.8 7h4.4', 'M7 4.8v4.4'],
    search: ['M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10z', 'M10.6 10.6L14 14'],
    refresh: ['M13.5 8a5.5 5.5 0 1 1-1.7-4', 'M13.5 1.8v3h-3'],
    remove: ['M3.5 4.5h9', 'M6.5 4.5v-2h3v2', 'M4.5 4.5l.6 9h5.8l.6-9'],
    filter: ['M2 3h12l-4.6 5.6v4.4l-2.8-1.4v-3z'],
    link: ['M6.6 9.4l2.8-2.8', 'M7.2 4.6l1.4-1.4a3 3 0 0 1 4.2 4.2l-1.4 1.4',
      'M8.8 11.4l-1.4 1.4a3 3 0 0 1-4.2-4.2l1.4-1.4'],
    swap: ['M2.5 5.5h11', 'M10.5 2.5l3 3-3 3', 'M13.5 10.5h-11',
      'M5.5 7.5l-3 3 3 3'],
    flip: ['M8 2v12', 'M4.5 5.5L8 2l3.5 3.5', 'M4.5 10.5L8 14l3.5-3.5'],
    fit: ['M2.5 6v-3.5H6', 'M10 2.5h3.5V6', 'M13.5 10v3.5H10',
      'M6 13.5H2.5V10']
  };

  let live = null;

  /* Says it to a screen reader, politely; the last word wins. */
  function announce(text) {
    if (!live) {
      live = h('div', { class: 'visually-hidden', role: 'status',
        'aria-live': 'polite' });
      document.body.append(live);
    }
    say(live, text);
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = h('textarea', { class: 'visually-hidden' });
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand('copy');
      area.remove();
    }
    announce('Copied');
  }

  function copyButton(label, text) {
    const b = h('button', { type: 'button', class: 'icon-button',
      'aria-label': label, title: label }, icon('copy'));
    b.addEventListener('click', async () => {
      await copy(text());
      b.replaceChildren(icon('check'));
      setTimeout(() => b.replaceChildren(icon('copy')), 2000);
    });
    return b;
  }

  function download(name, type, content) {
    const url = URL.createObjectURL(
      content instanceof Blob ? content : new Blob([content], { type }));
    const a = h('a', { href: url, download: name });
    document.body.append(a);
    a.click();
    a.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }

  /* Places a popover near its button, inside the window. */
  function place(pop, anchor) {
    const a = anchor.getBoundingClientRect();
    const p = pop.getBoundingClientRect();
    const left = Math.min(Math.max(8, a.left),
      document.documentElement.clientWidth - p.width - 8);
    const below = a.bottom + 6 + p.height < innerHeight || a.top < p.height;
    const top = Math.min(below ? a.bottom + 6 : a.top - p.height - 6,
      innerHeight - p.height - 8);
    Object.assign(pop.style, { left: Math.max(8, left) + 'px',
      top: Math.max(8, top) + 'px' });
  }

  /* An input of a time to the second, or as fine as the time is. */
  function setTime(input, t) {
    input.step = Number.isInteger(t) ? '1' : '0.001';
    input.value = ns.time.toInput(t);
  }

  let serial = 0;

  /* A button that opens what fill(panel) puts into a popover. */
  function popover(button, fill, label) {
    const pop = h('div', { class: 'popover', popover: 'auto',
      id: 'pop' + ++serial, role: 'dialog', 'aria-label': label });
    button.setAttribute('popovertarget', pop.id);
    button.setAttribute('aria-haspopup', 'dialog');
    pop.addEventListener('toggle', (e) => {
      const open = e.newState === 'open';
      button.setAttribute('aria-expanded', String(open));
      if (open) {
        fill(pop);
        place(pop, button);
      }
    });
    document.body.append(pop);
    return pop;
  }

  function infoButton(title, text) {
    const b = h('button', { type: 'button', class: 'icon-button info-button',
      'aria-label': 'About ' + title }, icon('info'));
    popover(b, (pop) => pop.replaceChildren(h('h4', { text: title }),
      ...[].concat(text).map((t) => h('p', { text: t }))), 'About ' + title);
    return b;
  }

  ns.dom = { say, h, svg, icon, announce, copy, copyButton, download, popover,
    place, infoButton, setTime, $: (id) => document.getElementById(id) };
})(globalThis.MemLens = globalThis.MemLens || {});
