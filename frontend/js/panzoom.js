/*
 * Pan and zoom of an SVG by its viewBox: wheel, drag, pinch, keys.
 */
(function (ns) {
  'use strict';

  const MIN_SCALE = 0.05, MAX_SCALE = 8, READABLE = 0.7;

  /* box: {x, y, w, h}; scaled about the point (px, py) of it; pure. */
  function zoomed(box, factor, px, py) {
    return { x: px - (px - box.x) * factor, y: py - (py - box.y) * factor,
      w: box.w * factor, h: box.h * factor };
  }

  /*
   * host: focusable element around svg.  Returns {fit, zoom, centre}; the
   * signal takes the listeners off again.
   */
  function attach(host, svg, signal) {
    const [x0, y0, w0, h0] = svg.getAttribute('viewBox').split(/[\s,]+/)
      .map(Number);
    const home = { x: x0, y: y0, w: w0, h: h0 };
    const fingers = new Map();
    let box = home;

    function apply(next) {
      const px = host.clientWidth || 1;
      const scale = px / next.w;
      if (scale < MIN_SCALE || scale > MAX_SCALE)
        return;
      box = next;
      svg.setAttribute('viewBox', [box.x, box.y, box.w, box.h].join(' '));
    }

    /* The whole graph, with the window's proportions. */
    function fit() {
      const ratio = (host.clientWidth || 1) / (host.clientHeight || 1);
      const w = Math.max(home.w, home.h * ratio), h = w / ratio;
      box = { x: home.x - (w - home.w) / 2, y: home.y - (h - home.h) / 2,
        w, h };
      svg.setAttribute('viewBox', [box.x, box.y, box.w, box.h].join(' '));
    }

    /* The whole graph if it can be read so, else its top at a fair size. */
    function start() {
      fit();
      const w = Math.min(box.w, (host.clientWidth || 1) / READABLE);
      if (w >= box.w)
        return;
      const h = w * box.h / box.w;
      apply({ x: home.x + (home.w - w) / 2,
        y: home.h > h ? home.y : home.y - (h - home.h) / 2, w, h });
    }

    function point(clientX, clientY) {
      const r = host.getBoundingClientRect();
      return [box.x + (clientX - r.left) / r.width * box.w,
        box.y + (clientY - r.top) / r.height * box.h];
    }

    function zoom(factor, at) {
      const [px, py] = at || [box.x + box.w / 2, box.y + box.h / 2];
      apply(zoomed(box, factor, px, py));
    }

    function pan(dx, dy) {
      apply({ x: box.x + dx * box.w, y: box.y + dy * box.h, w: box.w,
        h: box.h });
    }

    /* Puts a node of the graph into the middle, readable. */
    function centre(node) {
      const b = node.getBBox();
      const m = svg.getCTM().inverse().multiply(node.getCTM());
      const cx = b.x + b.width / 2, cy = b.y + b.height / 2;
      const x = m.a * cx + m.c * cy + m.e, y = m.b * cx + m.d * cy + m.f;
      const w = Math.min(box.w, host.clientWidth / 1.2);
      const h = w * box.h / box.w;
      apply({ x: x - w / 2, y: y - h / 2, w, h });
    }

    host.addEventListener('wheel', (e) => {
      /* Plain scrolling past the graph must still work. */
      if (!e.ctrlKey && !e.metaKey && document.activeElement !== host)
        return;
      e.preventDefault();
      zoom(Math.exp(e.deltaY * 0.0015), point(e.clientX, e.clientY));
    }, { passive: false, signal });
    host.addEventListener('pointerdown', (e) => {
      if (e.button === 0)
        fingers.set(e.pointerId, e);
    }, { signal });
    host.addEventListener('pointermove', (e) => {
      const old = fingers.get(e.pointerId);
      if (!old)
        return;
      if (Math.hypot(e.clientX - old.clientX, e.clientY - old.clientY) > 2 &&
        !host.hasPointerCapture(e.pointerId))
        host.setPointerCapture(e.pointerId);
      moved(e, old);
      fingers.set(e.pointerId, e);
    }, { signal });

    function moved(e, old) {
      if (fingers.size === 1)
        return pan((old.clientX - e.clientX) / host.clientWidth,
          (old.clientY - e.clientY) / host.clientHeight);
      const other = [...fingers.values()]
        .find((f) => f.pointerId !== e.pointerId);
      const span = (f) => Math.hypot(f.clientX - other.clientX,
        f.clientY - other.clientY);
      return zoom(span(old) / Math.max(1, span(e)),
        point(other.clientX, other.clientY));
    }
    for (const type of ['pointerup', 'pointercancel', 'lostpointercapture'])
      host.addEventListener(type, (e) => fingers.delete(e.pointerId),
        { signal });

    const KEYS = { ArrowLeft: () => pan(-0.1, 0), ArrowUp: () => pan(0, -0.1),
      ArrowRight: () => pan(0.1, 0), ArrowDown: () => pan(0, 0.1),
      '+': () => zoom(0.8), '=': () => zoom(0.8), '-': () => zoom(1.25),
      '0': fit };
    host.onkeydown = (e) => {
      if (e.target !== host || !KEYS[e.key] || e.ctrlKey || e.metaKey)
        return;
      e.preventDefault();
      KEYS[e.key]();
    };
    start();
    return { fit, zoom, centre };
  }

  ns.panzoom = { attach, zoomed };
})(globalThis.MemLens = globalThis.MemLens || {});
