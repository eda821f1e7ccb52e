/*
 * Pan and zoom of an SVG by its viewBox: wheel, drag, pinch, keys.
 */
(function (ns) {
  'use strict';

  const MIN_SCALE = 0.05, MAX_SCALE = 8, READABLE = 0.7;
  const LARGEST = 1.4, DRAG_PX = 3;

  /* box: {x, y, w, h}; scaled about the point (px, py) of it; pure. */
  function zoomed(box, factor, px, py) {
    return { x: px - (px - box.x) * factor, y: py - (py - box.y) * factor,
      w: box.w * factor, h: box.h * factor };
  }

  /* The smallest box around `home` with the proportions of the window. */
  function around(home, ratio) {
    const w = Math.max(home.w, home.h * ratio), h = w / ratio;
    return { x: home.x - (w - home.w) / 2, y: home.y - (h - home.h) / 2,
      w, h };
  }

  /* A window of w by h about a point of `home`, and no further out of it
   * than it must; pure. */
  function about(home, w, h, [px, py]) {
    const one = (from, room, size, p) => (room <= size
      ? from - (size - room) / 2
      : Math.max(from, Math.min(from + room - size, p - size / 2)));
    return { x: one(home.x, home.w, w, px), y: one(home.y, home.h, h, py),
      w, h };
  }

  class PanZoom {
    /* host: focusable element around svg; signal takes listeners off; node
     * is what is seen first where not all can be. */
    constructor(host, svg, signal, node) {
      const [x, y, w, h] = svg.getAttribute('viewBox').split(/[\s,]+/)
        .map(Number);
      Object.assign(this, { host, svg, home: { x, y, w, h },
        fingers: new Map() });
      this.listenToWheel(signal);
      this.listenToFingers(signal);
      this.listenToKeys(signal);
      this.start(node);
    }

    set(box) {
      this.box = box;
      this.svg.setAttribute('viewBox',
        [box.x, box.y, box.w, box.h].join(' '));
    }

    apply(box) {
      const scale = (this.host.clientWidth || 1) / box.w;
      if (scale >= MIN_SCALE && scale <= MAX_SCALE)
        this.set(box);
    }

    /* All of it, but a small graph is not blown up. */
    fit() {
      const width = this.host.clientWidth || 1;
      const box = around(this.home, width / (this.host.clientHeight || 1));
      const grow = Math.max(1, width / LARGEST / box.w);
      this.set(zoomed(box, grow, box.x + box.w / 2, box.y + box.h / 2));
    }

    /* The whole graph if it can be read so, else what is about a node of it,
     * by default its top, at a fair size. */
    start(node) {
      this.fit();
      const w = Math.min(this.box.w, (this.host.clientWidth || 1) / READABLE);
      if (w >= this.box.w)
        return;
      const h = w * this.box.h / this.box.w, { home } = this;
      const at = node ? this.centreOf(node) : [home.x + home.w / 2, home.y];
      this.apply(about(home, w, h, at));
    }

    /* Graph coordinates of a place on the screen. */
    point(clientX, clientY) {
      const r = this.host.getBoundingClientRect();
      return [this.box.x + (clientX - r.left) / r.width * this.box.w,
        this.box.y + (clientY - r.top) / r.height * this.box.h];
    }

    zoom(factor, at) {
      const { x, y, w, h } = this.box;
      const [px, py] = at || [x + w / 2, y + h / 2];
      this.apply(zoomed(this.box, factor, px, py));
    }

    /* By parts of the window. */
    pan(dx, dy) {
      const { x, y, w, h } = this.box;
      this.apply({ x: x + dx * w, y: y + dy * h, w, h });
    }

    /* In the graph's coordinates. */
    centreOf(node) {
      const b = node.getBBox();
      const m = this.svg.getCTM().inverse().multiply(node.getCTM());
      const cx = b.x + b.width / 2, cy = b.y + b.height / 2;
      return [m.a * cx + m.c * cy + m.e, m.b * cx + m.d * cy + m.f];
    }

    /* Puts a node of the graph into the middle, readable. */
    centre(node) {
      const [x, y] = this.centreOf(node);
      const w = Math.min(this.box.w, this.host.clientWidth / 1.2);
      const h = w * this.box.h / this.box.w;
      this.apply({ x: x - w / 2, y: y - h / 2, w, h });
    }

    listenToWheel(signal) {
      this.host.addEventListener('wheel', (e) => {
        /* Plain scrolling past the graph must still work. */
        if (!e.ctrlKey && !e.metaKey &&
          !this.host.contains(document.activeElement))
          return;
        e.preventDefault();
        this.zoom(Math.exp(e.deltaY * 0.0015),
          this.point(e.clientX, e.clientY));
      }, { passive: false, signal });
    }

    listenToFingers(signal) {
      const { host, fingers } = this;
      host.addEventListener('pointerdown', (e) => {
        if (e.button === 0)
          fingers.set(e.pointerId, e);
      }, { signal });
      host.addEventListener('pointermove', (e) => {
        const old = fingers.get(e.pointerId);
        if (!old || !this.dragging(e, old))
          return;
        this.moved(e, old);
        fingers.set(e.pointerId, e);
      }, { signal });
      for (const type of ['pointerup', 'pointercancel', 'lostpointercapture'])
        host.addEventListener(type, (e) => fingers.delete(e.pointerId),
          { signal });
    }

    /* A click that shakes a little is still a click on a node. */
    dragging(e, old) {
      if (this.host.hasPointerCapture(e.pointerId))
        return true;
      if (Math.hypot(e.clientX - old.clientX, e.clientY - old.clientY) <
        DRAG_PX)
        return false;
      this.host.setPointerCapture(e.pointerId);
      return true;
    }

    moved(e, old) {
      if (this.fingers.size === 1)
        return this.pan((old.clientX - e.clientX) / this.host.clientWidth,
          (old.clientY - e.clientY) / this.host.clientHeight);
      const other = [...this.fingers.values()]
        .find((f) => f.pointerId !== e.pointerId);
      const span = (f) => Math.hypot(f.clientX - other.clientX,
        f.clientY - other.clientY);
      return this.zoom(span(old) / Math.max(1, span(e)),
        this.point(other.clientX, other.clientY));
    }

    listenToKeys(signal) {
      const KEYS = {
        ArrowLeft: () => this.pan(-0.1, 0), ArrowUp: () => this.pan(0, -0.1),
        ArrowRight: () => this.pan(0.1, 0), ArrowDown: () => this.pan(0, 0.1),
        '+': () => this.zoom(0.8), '=': () => this.zoom(0.8),
        '-': () => this.zoom(1.25), 0: () => this.fit() };
      this.host.addEventListener('keydown', (e) => {
        if (!KEYS[e.key] || e.ctrlKey || e.metaKey || e.altKey)
          return;
        e.preventDefault();
        KEYS[e.key]();
      }, { signal });
    }
  }

  ns.panzoom = { PanZoom, zoomed, around, about };
})(globalThis.MemLens = globalThis.MemLens || {});
