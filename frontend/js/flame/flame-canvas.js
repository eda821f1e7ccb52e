/*
 * Draws frames on a canvas and turns pointer and keys into events.  What to
 * zoom, mark or search is told from outside; this file only shows it.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const ROW = 20, LABEL_PX = 28, PAD = 4;

  function token(name) {
    return getComputedStyle(document.documentElement)
      .getPropertyValue(name).trim();
  }

  /* Colours of this moment; a forced palette overrides ours. */
  function palette() {
    const theme = ns.theme.current();
    if (matchMedia('(forced-colors: active)').matches)
      return { fill: () => 'Canvas', text: 'CanvasText', dim: 'GrayText',
        above: 'GrayText', mark: 'Highlight', edge: 'CanvasText',
        block: 'GrayText', faded: 'Canvas', forced: true };
    return { fill: (name, kind) => ns.colour.frame(name, kind, theme),
      text: ns.colour.text(theme), dim: token('--text-muted'),
      above: token('--text'), mark: token('--flame-mark'),
      edge: token('--surface'), block: token('--flame-block'),
      faded: token('--flame-faded'), forced: false };
  }

  /* The longest part of the text that fits; a mono font is even. */
  function fit(text, px, charPx) {
    const n = Math.floor(px / charPx);
    return n >= text.length ? text : n < 4 ? '' : text.slice(0, n - 1) + '…';
  }

  /*
   * spec: {label, up, onZoom(i), onHover(i or -1, event), onFocus(i),
   * onMenu(i, rectangle), onEscape(), onLayout(laid)?, fill(i)?, text(i)?};
   * i is a frame, fill and text are its colour, or null, and label where they
   * are not those of its name.
   */
  class FlameCanvas {
    constructor(spec) {
      Object.assign(this, { spec, f: null, zoomed: 0, up: !!spec.up,
        marked: null, match: null, at: -1, over: -1, laid: null, width: 0,
        pending: 0, toRoot: false });
      this.canvas = h('canvas', { class: 'flame-canvas' });
      this.node = h('div', { class: 'flame-box', tabindex: '0',
        role: 'application', 'aria-roledescription': 'flame graph',
        'aria-label': spec.label }, this.canvas);
      this.listenToPointer();
      this.listenToKeys();
      new ResizeObserver(() => {
        if (this.canvas.clientWidth !== this.width)
          this.layout();
      }).observe(this.node);
      ns.theme.on(() => this.repaint());
    }

    /* Top of a level in pixels. */
    y(level) {
      return (this.up ? this.laid.depth - 1 - level : level) * ROW;
    }

    drawFrame(ctx, pal, r, level) {
      const f = this.f, id = f.name[r.i], top = this.y(level);
      const out = this.match && !this.match.has(id);
      /* Fading tells matches apart, except where all fills are one. */
      const strong = this.marked === id || r.i === this.at ||
        (pal.forced && this.match && !out);
      ctx.globalAlpha = r.above && !pal.forced ? 0.5 : 1;
      ctx.fillStyle = out ? pal.faded : this.spec.fill && !pal.forced &&
        this.spec.fill(r.i) || pal.fill(f.names[id], f.kinds[id]);
      ctx.fillRect(r.left, top, r.width - (r.width > 3 ? 1 : 0), ROW - 1);
      ctx.globalAlpha = 1;
      if (strong || pal.forced) {
        ctx.strokeStyle = strong ? pal.mark : pal.edge;
        ctx.lineWidth = strong ? 2 : 1;
        ctx.strokeRect(r.left + 1, top + 1, Math.max(1, r.width - 3),
          ROW - 3);
      }
      if (r.width < LABEL_PX)
        return;
      ctx.fillStyle = out ? pal.dim : r.above ? pal.above : pal.text;
      const text = ns.format.visible(this.spec.text
        ? this.spec.text(r.i) : f.names[id]);
      ctx.fillText(fit(text, r.width - 2 * PAD, this.charPx),
        r.left + PAD, top + ROW / 2);
    }

    drawHover(ctx, pal) {
      const f = this.f, i = this.over;
      if (i < 0 || f.level[i] >= this.laid.depth)
        return;
      const { x0, x1 } = this.laid.win;
      const scale = this.width / (x1 - x0);
      const left = Math.max(0, (f.x[i] - x0) * scale);
      const right = Math.min(this.width,
        (f.x[i] + f.total[i] - x0) * scale);
      ctx.strokeStyle = pal.mark;
      ctx.lineWidth = 1;
      ctx.strokeRect(left + 0.5, this.y(f.level[i]) + 0.5,
        Math.max(1, right - left - 2), ROW - 2);
    }

    /* A context of the right size, in CSS pixels. */
    prepare() {
      const dpr = window.devicePixelRatio || 1;
      const height = Math.max(1, this.laid.depth) * ROW;
      this.canvas.width = Math.round(this.width * dpr);
      this.canvas.height = Math.round(height * dpr);
      this.canvas.style.height = height + 'px';
      const ctx = this.canvas.getContext('2d');
      ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
      ctx.font = '12px ' + token('--font-mono');
      ctx.textBaseline = 'middle';
      this.charPx = ctx.measureText('0').width;
      return ctx;
    }

    paint() {
      if (!this.f || this.width <= 0)
        return;
      const pal = palette(), ctx = this.prepare();
      this.laid.rows.forEach((row, level) => {
        for (const r of row)
          if (r.i >= 0) {
            this.drawFrame(ctx, pal, r, level);
          } else {
            ctx.fillStyle = pal.block;
            ctx.fillRect(r.left, this.y(level), Math.max(r.width, 0.5),
              ROW - 1);
          }
      });
      this.drawHover(ctx, pal);
      /* Growing upwards, the root is at the bottom: start there. */
      if (this.toRoot && this.node.clientHeight > 0) {
        this.node.scrollTop = this.up ? this.node.scrollHeight : 0;
        this.toRoot = false;
      }
    }

    repaint() {
      if (!this.pending)
        this.pending = requestAnimationFrame(() => {
          this.pending = 0;
          this.paint();
        });
    }

    layout() {
      this.width = this.canvas.clientWidth;
      if (!this.f || this.width <= 0)
        return;
      this.laid = ns.flameLayout.lay(this.f, this.zoomed, this.width);
      this.repaint();
      if (this.spec.onLayout)
        this.spec.onLayout(this.laid);
    }

    under(e) {
      if (!this.laid)
        return -1;
      const box = this.canvas.getBoundingClientRect();
      const row = Math.floor((e.clientY - box.top) / ROW);
      const level = this.up ? this.laid.depth - 1 - row : row;
      return level < 0 || level >= this.laid.depth ? -1
        : ns.flameLayout.hit(this.f, this.zoomed, this.width,
          e.clientX - box.left, level);
    }

    hover(i, e) {
      if (i !== this.over)
        this.repaint();
      this.over = i;
      this.canvas.classList.toggle('over-frame', i >= 0);
      this.spec.onHover(i, e);
    }

    listenToPointer() {
      const { canvas, spec } = this;
      canvas.addEventListener('pointermove', (e) =>
        this.hover(this.under(e), e));
      canvas.addEventListener('pointerleave', (e) => this.hover(-1, e));
      canvas.addEventListener('click', (e) => {
        const i = this.under(e);
        if (i < 0)
          return;
        this.at = i;
        spec.onZoom(i === this.zoomed ? 0 : i);
      });
      canvas.addEventListener('contextmenu', (e) => {
        const i = this.under(e);
        if (i < 0)
          return;
        e.preventDefault();
        spec.onMenu(i, { left: e.clientX, top: e.clientY,
          bottom: e.clientY, right: e.clientX });
      });
    }

    /* Keeps the frame that the arrow keys stand on in sight. */
    reveal(i) {
      const top = this.y(this.f.level[i]), box = this.node;
      if (top < box.scrollTop)
        box.scrollTop = top;
      else if (top + ROW > box.scrollTop + box.clientHeight)
        box.scrollTop = top + ROW - box.clientHeight;
    }

    /* Where a frame is in the window, as much of it as can be seen. */
    place(i) {
      const box = this.node.getBoundingClientRect();
      const { left, top } = this.canvas.getBoundingClientRect();
      const { x0, x1 } = this.laid.win;
      const x = left + Math.max(0, this.f.x[i] - x0) * this.width / (x1 - x0);
      const y = Math.min(Math.max(top + this.y(this.f.level[i]), box.top),
        box.bottom - ROW);
      return { left: x, right: x, top: y, bottom: y + ROW };
    }

    step(key) {
      const flipped = { up: 'down', down: 'up' };
      const way = this.up && flipped[key] ? flipped[key] : key;
      this.at = this.at < 0 ? this.zoomed
        : ns.flameLayout.step(this.f, this.at, way, this.zoomed);
      if (this.f.level[this.at] >= this.laid.depth)
        this.at = this.zoomed;
      this.reveal(this.at);
      this.repaint();
      this.spec.onFocus(this.at);
    }

    listenToKeys() {
      const { node, spec } = this;
      const KEYS = {
        ArrowUp: () => this.step('up'), ArrowDown: () => this.step('down'),
        ArrowLeft: () => this.step('left'),
        ArrowRight: () => this.step('right'),
        Enter: () => this.at >= 0 && spec.onZoom(this.at),
        Escape: () => spec.onEscape(),
        ContextMenu: () => this.at >= 0 &&
          spec.onMenu(this.at, this.place(this.at))
      };
      node.addEventListener('keydown', (e) => {
        const key = e.key === 'F10' && e.shiftKey ? 'ContextMenu' : e.key;
        if (!KEYS[key] || !this.laid || e.ctrlKey || e.metaKey || e.altKey)
          return;
        e.preventDefault();
        KEYS[key]();
      });
      node.addEventListener('blur', () => {
        this.at = -1;
        this.repaint();
      });
    }

    /* focus: the frame that the keys stand on, -1 for none; anew: this is
     * another tree, not the next state of the same. */
    show(f, focus = -1, anew = false) {
      const first = !this.f || this.f.ticks === 0;
      Object.assign(this, { f, zoomed: 0, at: focus, over: -1 });
      this.toRoot = this.toRoot || first || anew;
      this.layout();
    }

    zoom(i) {
      this.zoomed = i;
      this.layout();
    }

    flip(up) {
      this.toRoot = this.toRoot || up !== this.up;
      this.up = up;
      this.repaint();
    }

    /* ids: Set of name indexes that match the search, or null. */
    search(ids) {
      this.match = ids;
      this.repaint();
    }

    /* Marks all frames of a name, null for none. */
    mark(id) {
      this.marked = id;
      this.repaint();
    }

    focus() {
      return this.at;
    }
  }

  ns.flameCanvas = { create: (spec) => new FlameCanvas(spec), ROW };
})(globalThis.MemLens = globalThis.MemLens || {});
