/*
 * The page that explains PBFT: a space-time diagram that plays, stops and
 * can be stepped, with a node that may be told to keep silent.
 */
(function (ns) {
  'use strict';

  const { $, h, svg } = ns.dom;
  const P = ns.pbftModel;
  const LEFT = 120, WIDTH = 1180, TOP = 54, LANE = 84, RIGHT = 1010;
  const COLOURS = ['--series-2', '--series-3', '--series-1', '--series-5',
    '--series-4'];
  const STATUS = { '': '', waiting: 'waiting', done: 'has its answer',
    proposed: 'has the proposal', prepared: 'prepared',
    committed: 'committed' };
  const still = matchMedia('(prefers-reduced-motion: reduce)');

  const laneY = (lane) => TOP + 40 + lane * LANE;
  const timeX = (t) => LEFT + (RIGHT - LEFT) * t / P.duration();

  class Diagram {
    constructor(root) {
      this.silent = 0;
      this.t = 0;
      this.svg = svg('svg', { class: 'pbft-svg', role: 'img',
        viewBox: `0 0 ${WIDTH} ${laneY(4) + 40}` });
      root.append(this.svg);
      this.build();
      root.addEventListener('scroll', () => this.keepNames(),
        { passive: true });
      new ResizeObserver(() => this.keepNames()).observe(root);
    }

    build() {
      this.messages = P.messages(this.silent);
      this.status = P.LANES.map((_, lane) => svg('text', {
        class: 'pbft-status', x: RIGHT + 16, y: laneY(lane) + 5 }));
      this.dots = this.messages.map((m) => svg('circle', { r: 5,
        class: 'pbft-dot', style: { fill: `var(${COLOURS[m.phase]})` } }));
      this.lines = this.messages.map((m) => svg('line', {
        class: 'pbft-line', x1: timeX(m.start), y1: laneY(m.from),
        style: { stroke: `var(${COLOURS[m.phase]})` } }));
      this.now = svg('line', { class: 'pbft-now', y1: TOP - 14,
        y2: laneY(4) + 24 });
      this.svg.replaceChildren(...this.columns(), ...this.lanes(), this.now,
        ...this.lines, ...this.dots, ...this.status);
      this.keepNames();
      this.show(this.t);
    }

    columns() {
      return P.PHASES.map((phase, k) => svg('text', { class: 'pbft-phase',
        x: timeX(k * (P.FLIGHT_S + P.PAUSE_S)), y: TOP - 22,
        style: { fill: `var(${COLOURS[k]})` } }, phase.name));
    }

    lanes() {
      return P.LANES.flatMap((name, lane) => {
        const mute = lane > 0 && lane === this.silent;
        return [svg('line', { class: mute ? 'pbft-lane pbft-mute'
          : 'pbft-lane', x1: LEFT, x2: RIGHT, y1: laneY(lane),
        y2: laneY(lane) }),
        svg('text', { class: 'pbft-name' }, name)];
      });
    }

    /* Left of the lanes; where the card is narrower than the round, at its
     * edge, however far it is scrolled. */
    keepNames() {
      const box = this.svg.parentElement;
      const narrow = box && box.scrollWidth > box.clientWidth;
      const edge = narrow ? box.scrollLeft / box.scrollWidth * WIDTH : 0;
      this.svg.querySelectorAll('.pbft-name').forEach((n, lane) => {
        n.setAttribute('x', narrow ? edge + 10 : LEFT - 14);
        n.setAttribute('y', laneY(lane) + (narrow ? -8 : 5));
        n.setAttribute('text-anchor', narrow ? 'start' : 'end');
      });
    }

    showMessage(m, k, t) {
      const part = Math.min(1, Math.max(0, (t - m.start) /
        (m.end - m.start)));
      const x = timeX(m.start + part * (m.end - m.start));
      const y = laneY(m.from) + part * (laneY(m.to) - laneY(m.from));
      const line = this.lines[k], dot = this.dots[k];
      line.setAttribute('x2', x);
      line.setAttribute('y2', y);
      dot.setAttribute('cx', x);
      dot.setAttribute('cy', y);
      line.style.opacity = part === 0 ? 0 : part < 1 ? 0.9 : 0.55;
      dot.style.opacity = part > 0 && part < 1 ? 1 : 0;
    }

    /* Where the card is narrower than the round, the present stays in
     * sight. */
    reveal(x) {
      const box = this.svg.parentElement;
      if (box && box.scrollWidth > box.clientWidth)
        box.scrollLeft = x / this.svg.viewBox.baseVal.width *
          box.scrollWidth - box.clientWidth / 2;
    }

    show(t) {
      this.t = t;
      this.messages.forEach((m, k) => this.showMessage(m, k, t));
      this.now.setAttribute('x1', timeX(t));
      this.now.setAttribute('x2', timeX(t));
      this.reveal(timeX(t));
      const words = P.LANES.map((name, lane) => {
        const mute = lane > 0 && lane === this.silent;
        const p = mute ? '' : P.progress(this.messages, lane, t);
        const text = mute ? 'says nothing'
          : lane === 1 && p === 'proposed' ? 'has the request' : STATUS[p];
        this.status[lane].textContent = text;
        this.status[lane].dataset.progress = p;
        return name + ': ' + (text || 'nothing yet');
      });
      this.svg.setAttribute('aria-label', 'PBFT round. ' + words.join(', '));
    }
  }

  class Player {
    constructor(diagram) {
      Object.assign(this, { diagram, playing: false, last: 0 });
      this.slider = $('pbft-time');
      this.slider.max = P.duration();
      this.slider.addEventListener('input', () => {
        this.stop();
        this.go(Number(this.slider.value));
      });
      $('pbft-play').addEventListener('click', () =>
        (this.playing ? this.stop() : this.play()));
      $('pbft-back').addEventListener('click', () => this.jump(-1));
      $('pbft-next').addEventListener('click', () => this.jump(1));
      for (const b of $('pbft-silent').children)
        b.addEventListener('click', () => this.silence(b));
    }

    go(t) {
      this.diagram.show(t);
      this.slider.value = t;
      const k = P.phaseAt(t);
      this.slider.setAttribute('aria-valuetext', P.PHASES[k].name);
      [...$('pbft-phases').children].forEach((li, i) =>
        (i === k ? li.setAttribute('aria-current', 'step')
          : li.removeAttribute('aria-current')));
      const lost = this.diagram.silent === 1 && t > P.FLIGHT_S;
      $('pbft-note').textContent = lost ? 'Nothing is proposed. The backups ' +
        'time out and agree on a new primary (view change); then the ' +
        'request starts again.' : '';
    }

    frame(now) {
      if (!this.playing)
        return;
      const t = this.diagram.t + Math.min(0.1, (now - this.last) / 1000);
      this.last = now;
      this.go(Math.min(t, P.duration()));
      if (t >= P.duration())
        this.stop();
      else
        requestAnimationFrame((n) => this.frame(n));
    }

    play() {
      if (this.diagram.t >= P.duration() - 0.01)
        this.go(0);
      this.playing = true;
      this.last = performance.now();
      this.label();
      requestAnimationFrame((n) => this.frame(n));
    }

    stop() {
      this.playing = false;
      this.label();
    }

    label() {
      $('pbft-play').replaceChildren(
        ns.dom.icon(this.playing ? 'pause' : 'play'),
        this.playing ? 'Pause' : 'Play');
    }

    /* To the end of this phase, or to the beginning of this or the last. */
    jump(way) {
      const step = P.FLIGHT_S + P.PAUSE_S, k = this.diagram.t / step;
      this.stop();
      this.go(Math.min(P.duration(), Math.max(0, step * (way > 0
        ? Math.floor(k + 0.01) + 1 : Math.ceil(k - 0.01) - 1))));
    }

    silence(button) {
      for (const b of $('pbft-silent').children)
        b.setAttribute('aria-pressed', String(b === button));
      this.diagram.silent = Number(button.dataset.lane);
      this.diagram.build();
      this.go(still.matches ? P.duration() : 0);
      if (!still.matches)
        this.play();
    }
  }

  function start() {
    ns.theme.bind($('theme-button'));
    $('pbft-phases').replaceChildren(...P.PHASES.map((phase, k) => h('li', {},
      h('span', { class: 'pbft-key', 'aria-hidden': 'true',
        style: { background: `var(${COLOURS[k]})` } }),
      h('strong', { text: phase.name }), h('span', { text: phase.text }))));
    const player = new Player(new Diagram($('pbft-diagram')));
    player.label();
    /* Who wants no motion gets the whole round, and the slider. */
    if (still.matches)
      player.go(P.duration());
    else
      player.play();
  }

  start();
})(globalThis.MemLens = globalThis.MemLens || {});
