/*
 * As much of a browser as the script inside a flame graph's picture asks for
 * (fcgi/format/flame/flamesvg.js): a tree of elements, events that bubble,
 * an address, a width.
 */
import { readFileSync } from 'node:fs';
import { createContext, runInContext } from 'node:vm';

const SCRIPT = readFileSync(new URL(
  '../../../fcgi/format/flame/flamesvg.js', import.meta.url), 'utf8');

class Element {
  constructor(page, nodeName, attributes = {}, ...children) {
    Object.assign(this, { page, nodeName, attributes: new Map(), children: [],
      parentNode: null, text: '', style: {}, listeners: [] });
    for (const [k, v] of Object.entries(attributes))
      this.setAttribute(k, v);
    for (const child of children)
      this.appendChild(child);
  }
  get namespaceURI() { return 'http://www.w3.org/2000/svg'; }
  get id() { return this.getAttribute('id'); }
  get textContent() {
    return this.text + this.children.map((c) => c.textContent).join('');
  }
  set textContent(s) { this.text = s; this.children = []; }
  get childElementCount() { return this.children.length; }
  get firstElementChild() { return this.children[0] ?? null; }
  get lastElementChild() { return this.children.at(-1) ?? null; }
  get nextElementSibling() {
    const all = this.parentNode.children;
    return all[all.indexOf(this) + 1] ?? null;
  }
  get nextSibling() { return this.nextElementSibling; }
  get dataset() {
    return Object.fromEntries([...this.attributes].filter(([k]) =>
      k.startsWith('data-')).map(([k, v]) => [k.slice(5), v]));
  }
  get classList() {
    const set = new Set((this.getAttribute('class') || '').split(' '));
    const keep = () => this.setAttribute('class', [...set].join(' ').trim());
    return {
      contains: (c) => set.has(c),
      remove: (c) => { set.delete(c); keep(); },
      toggle: (c, on) => { set[on ? 'add' : 'delete'](c); keep(); }
    };
  }
  getAttribute(k) { return this.attributes.get(k) ?? null; }
  setAttribute(k, v) { this.attributes.set(k, String(v)); }
  removeAttribute(k) { this.attributes.delete(k); }
  removeChild(child) {
    this.children.splice(this.children.indexOf(child), 1);
    child.parentNode = null;
  }
  insertBefore(child, before) {
    const list = child.nodeName === '#fragment' ? [...child.children] : [child];
    const at = before ? this.children.indexOf(before) : this.children.length;
    for (const c of list)
      c.parentNode = this;
    this.children.splice(at, 0, ...list);
  }
  appendChild(child) { this.insertBefore(child, null); }
  cloneNode(deep) {
    const copy = new Element(this.page, this.nodeName,
      Object.fromEntries(this.attributes));
    if (deep) {
      copy.text = this.text;
      this.children.forEach((c) => copy.appendChild(c.cloneNode(true)));
    }
    return copy;
  }
  all() { return this.children.flatMap((c) => [c, ...c.all()]); }
  getElementsByTagName(name) {
    return this.all().filter((e) => e.nodeName === name);
  }
  querySelector(name) { return this.getElementsByTagName(name)[0] ?? null; }
  /* of a frame: '#frames > g, #zoomed > g' */
  closest() {
    let e = this;
    while (e && !(e.nodeName === 'g' &&
        ['frames', 'zoomed'].includes(e.parentNode?.id)))
      e = e.parentNode;
    return e;
  }
  getBoundingClientRect() { return { width: this.page.width }; }
  addEventListener(type, act) { this.listeners.push([type, act]); }
  focus() {
    this.page.document.activeElement = this;
    this.page.fire(this, 'focusin');
  }
  select() { this.selected = true; }
}

/*
 * The picture of `frames`, each [name, weight, level, more attributes] in the
 * order of the file, with the script run: { width, fire(), find(), ... }.
 * With prompt() it is a place that has no fields of HTML.
 */
export function picture(frames, { hash = '', width = 1020, up = false,
  title = '', prompt } = {}) {
  const page = { width };
  const make = (...a) => new Element(page, ...a);
  const rows = Math.max(0, ...frames.map((f) => f[2]));
  const group = ([name, w, level, more]) => {
    const title = make('title');
    title.text = `${name} (${w} samples)`;
    return make('g', { 'data-w': w, ...more }, title, make('rect',
      { x: '0%', y: 16 * (up ? rows - level : level) }));
  };
  const style = make('style');
  style.text = 'text { fill: #000; }\n#frames rect { stroke: #fff; }\n';
  const root = make('svg', {}, style,
    ...['title', 'subtitle', 'matched', 'reset', 'clear', 'case', 'search']
      .map((id) => make('text', { id })),
    make('svg', { id: 'frames', y: 80, ...up && { 'data-up': 1 } },
      ...frames.map(group)), make('text', { id: 'details' }));
  const find = (id) => root.all().find((e) => e.id === id) ?? null;
  const listens = () => ({ listeners: [], addEventListener(type, act) {
    this.listeners.push([type, act]);
  } });
  find('title').text = title;
  const document = { ...listens(), documentElement: root, activeElement: null,
    getElementById: find, createElementNS(ns, name) {
      return Object.assign(make(name), name === 'input' && !prompt &&
        { value: '' });
    },
    createDocumentFragment: () => make('#fragment') };
  const window = { ...listens(), prompt };
  const location = { hash };
  Object.assign(page, { document, location, find,
    /* to the target, what it stands in, the document, the window */
    fire(target, type, more = {}) {
      const e = { type, target, prevented: false, ...more,
        preventDefault() { e.prevented = true; },
        stopPropagation() { e.stopped = true; } };
      const way = [document, window];
      for (let t = target?.parentNode && target; t; t = t.parentNode)
        way.splice(-2, 0, t);
      for (const t of way)
        for (const [wanted, act] of [...t.listeners])
          if (wanted === type && !e.stopped)
            act.call(t, e);
      return e;
    },
    /* the group that stands for a frame now */
    frame(name) {
      return (find('zoomed') ?? find('frames')).children.find((g) =>
        g.firstElementChild.textContent.startsWith(name + ' ('));
    },
    go(to) {
      location.hash = to;
      page.fire(null, 'hashchange');
    } });
  runInContext(SCRIPT, createContext({ document, window, location,
    history: { replaceState(a, b, to) { location.hash = to; } },
    setTimeout: (act) => act(), clearTimeout() {} }));
  return page;
}
