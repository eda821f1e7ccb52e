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
    const forced = matchMedia('(forced-colors: active)').matches;
    if (forced)
      return { fill: () => 'Canvas', text: 'CanvasText', dim: 'GrayText',
        mark: 'Highlight', edge: 'CanvasText', block: 'GrayText', forced };
    return { fill: (name, kind) => ns.colour.frame(name, kind, theme),
      text: ns.colour.text(theme), dim: token('--text-muted'),
      mark: token('--flame-mark'), edge: token('--surface'),
      block: token('--flame-block'), faded: token('--flame-faded'), forced };
  }

  /* The longest part of the text that fits; width of a mono font is even. */
  function fit(text, px, charPx) {
    const n = Math.floor(px / charPx);
    return n >= text.length ? text : n < 4 ? '' : text.slice(0, n - 1) + '…';
  }

  function create(spec) {
    const canvas = h('canvas', { class: 'flame-canvas' });
    const node = h('div', { class: 'flame-box', tabindex: '0',
      role: 'application', 'aria-roledescription': 'flame graph',
      'aria-label': spec.label }, canvas);
    const g = { f: null, zoom: 0, up: !!spec.up, marked: null, match: null,
      focus: -1, hover: -1, laid: null, width: 0 };

    function y(level) {
      return (g.up ? g.laid.depth - 1 - level : level) * ROW;
    }

    function drawFrame(ctx, pal, r, level, charPx) {
      const f = g.f, id = f.name[r.i];
      const name = f.names[id];
      const out = g.match && !g.match.has(id);
      const top = y(level);
      ctx.globalAlpha = r.above ? 0.55 : 1;
      ctx.fillStyle = out && !pal.forced ? pal.faded
        : pal.fill(name, f.kinds[id]);
      ctx.fillRect(r.left, top, r.width - (r.width > 3 ? 1 : 0), ROW - 1);
      ctx.globalAlpha = 1;
      if (pal.forced || (g.match && !out) || g.marked === id ||
        r.i === g.focus)
        outline(ctx, pal, r, top, g.match && !out || g.marked === id ||
          r.i === g.focus);
      if (r.width < LABEL_PX)
        return;
      ctx.fillStyle = out ? pal.dim : pal.text;
      ctx.fillText(fit(name, r.width - 2 * PAD, charPx), r.left + PAD,
        top + ROW / 2);
    }

    function outline(ctx, pal, r, top, strong) {
      ctx.strokeStyle = strong ? pal.mark : pal.edge;
      ctx.lineWidth = strong ? 2 : 1;
      ctx.strokeRect(r.left + 1, top + 1, Math.max(1, r.width - 3), ROW - 3);
    }

    function drawHover(ctx, pal) {
      const i = g.hover;
      if (i < 0 || g.f.level[i] >= g.laid.depth)
        return;
      const { x0, x1 } = g.laid.win;
      const scale = g.width / (x1 - x0);
      const left = Math.max(0, (g.f.x[i] - x0) * scale);
      const right = Math.min(g.width,
        (g.f.x[i] + g.f.total[i] - x0) * scale);
      ctx.strokeStyle = pal.text;
      ctx.lineWidth = 1;
      ctx.strokeRect(left + 0.5, y(g.f.level[i]) + 0.5,
        Math.max(1, right - left - 2), ROW - 2);
    }

    function paint() {
      if (!g.f || g.width <= 0)
        return;
      const pal = palette();
      const dpr = window.devicePixelRatio || 1;
      const height = Math.max(1, g.laid.depth) * ROW;
      canvas.width = Math.round(g.width * dpr);
      canvas.height = Math.round(height * dpr);
      canvas.style.height = height + 'px';
      const ctx = canvas.getContext('2d');
      ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
      ctx.font = '12px ' + token('--font-mono');
      ctx.textBaseline = 'middle';
      const charPx = ctx.measureText('0').width;
      g.laid.rows.forEach((row, level) => {
        for (const r of row)
          if (r.i >= 0) {
            drawFrame(ctx, pal, r, level, charPx);
          } else {
            ctx.fillStyle = pal.block;
            ctx.fillRect(r.left, y(level), Math.max(r.width, 0.5), ROW - 1);
          }
      });
      drawHover(ctx, pal);
    }

    let pending = 0;
    function repaint() {
      if (!pending)
        pending = requestAnimationFrame(() => {
          pending = 0;
          paint();
        });
    }

    function layout() {
      g.width = canvas.clientWidth;
      if (!g.f || g.width <= 0)
        return;
      g.laid = ns.flameLayout.lay(g.f, g.zoom, g.width);
      repaint();
      if (spec.onLayout)
        spec.onLayout(g.laid);
    }

    function under(e) {
      if (!g.laid)
        return -1;
      const box = canvas.getBoundingClientRect();
      const row = Math.floor((e.clientY - box.top) / ROW);
      const level = g.up ? g.laid.depth - 1 - row : row;
      return level < 0 || level >= g.laid.depth ? -1
        : ns.flameLayout.hit(g.f, g.zoom, g.width, e.clientX - box.left,
          level);
    }

    function hover(i, e) {
      if (i !== g.hover)
        repaint();
      g.hover = i;
      canvas.classList.toggle('over-frame', i >= 0);
      spec.onHover(i, e);
    }

    /* Keeps the frame that the arrow keys stand on in sight. */
    function reveal(i) {
      const top = y(g.f.level[i]);
      if (top < node.scrollTop)
        node.scrollTop = top;
      else if (top + ROW > node.scrollTop + node.clientHeight)
        node.scrollTop = top + ROW - node.clientHeight;
    }

    function step(key) {
      const flipped = { up: 'down', down: 'up' };
      const way = g.up && flipped[key] ? flipped[key] : key;
      g.focus = g.focus < 0 ? g.zoom
        : ns.flameLayout.step(g.f, g.focus, way);
      if (g.f.level[g.focus] >= g.laid.depth)
        g.focus = g.zoom;
      reveal(g.focus);
      repaint();
      spec.onFocus(g.focus);
    }

    const KEYS = {
      ArrowUp: () => step('up'), ArrowDown: () => step('down'),
      ArrowLeft: () => step('left'), ArrowRight: () => step('right'),
      Enter: () => g.focus >= 0 && spec.onZoom(g.focus),
      Escape: () => spec.onEscape()
    };

    node.addEventListener('keydown', (e) => {
      if (e.key === 'ContextMenu' || (e.key === 'F10' && e.shiftKey)) {
        e.preventDefault();
        if (g.focus >= 0)
          spec.onMenu(g.focus, node.getBoundingClientRect());
      } else if (KEYS[e.key] && g.f && !e.ctrlKey && !e.metaKey &&
        !e.altKey) {
        e.preventDefault();
        KEYS[e.key]();
      }
    });
    canvas.addEventListener('pointermove', (e) => hover(under(e), e));
    canvas.addEventListener('pointerleave', (e) => hover(-1, e));
    canvas.addEventListener('click', (e) => {
      const i = under(e);
      if (i >= 0) {
        g.focus = i;
        spec.onZoom(i === g.zoom ? 0 : i);
      }
    });
    canvas.addEventListener('contextmenu', (e) => {
      const i = under(e);
      if (i >= 0) {
        e.preventDefault();
        spec.onMenu(i, { left: e.clientX, top: e.clientY,
          bottom: e.clientY, right: e.clientX });
      }
    });
    node.addEventListener('blur', () => {
      g.focus = -1;
      repaint();
    });
    new ResizeObserver(() => {
      if (canvas.clientWidth !== g.width)
        layout();
    }).observe(node);
    ns.theme.on(repaint);

    return { node, canvas,
      show(f) {
        Object.assign(g, { f, zoom: 0, focus: -1, hover: -1 });
        layout();
        /* Growing upwards, the root is at the bottom: start there. */
        if (g.up && !g.seen)
          requestAnimationFrame(() => {
            node.scrollTop = node.scrollHeight;
          });
        g.seen = f.ticks > 0;
      },
      zoom(i) {
        g.zoom = i;
        layout();
      },
      flip(up) {
        g.up = up;
        repaint();
      },
      /* ids: Set of name indexes that match the search, or null. */
      search(ids) {
        g.match = ids;
        repaint();
      },
      mark(id) {
        g.marked = id;
        repaint();
      } };
  }

  ns.flameCanvas = { create, ROW };
})(globalThis.MemLens = globalThis.MemLens || {});
