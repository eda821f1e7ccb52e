/*
 * Colours of frames: the hue says the kind of code, the shade inside the
 * kind's band is a hash of the name, so a function keeps its colour from
 * visit to visit.  Pure.  Colours are made in OKLCH, where equal lightness
 * looks equally light, so that one text colour is readable on all of them.
 */
(function (ns) {
  'use strict';

  /* kind, hue from-to in degrees, chroma, what the legend says */
  const KINDS = [
    ['user', 52, 88, 0.125, 'program'],
    ['library', 150, 190, 0.085, 'library'],
    ['kernel', 242, 275, 0.095, 'kernel'],
    ['jit', 310, 345, 0.105, 'JIT'],
    ['unknown', 80, 80, 0.008, 'unknown']
  ].map(([kind, h0, h1, chroma, label]) => ({ kind, h0, h1, chroma, label }));

  const THEMES = {
    light: { l0: 0.80, l1: 0.88, text: '#1a1c22', scale: 1 },
    dark: { l0: 0.66, l1: 0.75, text: '#0b0f12', scale: 0.9 }
  };

  /* FNV-1a, 32 bits. */
  function hash(text) {
    let h = 0x811c9dc5;
    for (let i = 0; i < text.length; i++) {
      h ^= text.charCodeAt(i);
      h = Math.imul(h, 0x01000193);
    }
    h ^= h >>> 15;
    h = Math.imul(h, 0x2c1b3c6d);
    return (h ^ (h >>> 13)) >>> 0;
  }

  function gamma(u) {
    return u <= 0.0031308 ? 12.92 * u : 1.055 * Math.pow(u, 1 / 2.4) - 0.055;
  }

  /* OKLCH to #rrggbb, with Ottosson's published matrices. */
  function oklch(l, c, hue) {
    const a = c * Math.cos(hue * Math.PI / 180);
    const b = c * Math.sin(hue * Math.PI / 180);
    const p = Math.pow(l + 0.3963377774 * a + 0.2158037573 * b, 3);
    const q = Math.pow(l - 0.1055613458 * a - 0.0638541728 * b, 3);
    const r = Math.pow(l - 0.0894841775 * a - 1.2914855480 * b, 3);
    return '#' + [
      4.0767416621 * p - 3.3077115913 * q + 0.2309699292 * r,
      -1.2684380046 * p + 2.6097574011 * q - 0.3413193965 * r,
      -0.0041960863 * p - 0.7034186147 * q + 1.7076147010 * r
    ].map((u) => Math.round(255 * Math.min(1, Math.max(0, gamma(u))))
      .toString(16).padStart(2, '0')).join('');
  }

  function luminance(hex) {
    const [r, g, b] = [1, 3, 5].map((k) => {
      const u = parseInt(hex.slice(k, k + 2), 16) / 255;
      return u <= 0.04045 ? u / 12.92 : Math.pow((u + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  /* WCAG contrast of two #rrggbb colours. */
  function contrast(a, b) {
    const x = luminance(a), y = luminance(b);
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  }

  const cache = new Map();

  /* The fill of a frame; theme is "light" or "dark". */
  function frame(name, kind, theme) {
    const key = theme + kind + ' ' + name;
    if (!cache.has(key)) {
      const band = KINDS.find((k) => k.kind === kind) || KINDS[KINDS.length - 1];
      const t = THEMES[theme];
      const h = hash(name);
      const u = (h & 0xffff) / 0xffff, v = (h >>> 16) / 0xffff;
      if (cache.size > 20000)
        cache.clear();
      cache.set(key, oklch(t.l0 + (t.l1 - t.l0) * v, band.chroma * t.scale,
        band.h0 + (band.h1 - band.h0) * u));
    }
    return cache.get(key);
  }

  /*
   * A relative change, -1 (gone) to 1 (new): blue is less, orange is more,
   * which all eyes can tell apart; faint where few samples tell.
   */
  function changed(change, faint, theme) {
    const size = Math.sqrt(Math.min(1, Math.abs(change))) *
      (faint ? 0.4 : 1);
    const [hue, most] = change > 0 ? [62, 0.155] : [248, 0.125];
    return theme === 'dark'
      ? oklch(0.60 + 0.12 * size, most * 0.9 * size, hue)
      : oklch(0.945 - 0.175 * size, most * size, hue);
  }

  /*
   * A frame of wall time: hot where it is on a CPU, cold where it waits, in
   * between by the part `off` of it that waits, 0 to 1.
   */
  function state(name, off, theme) {
    const t = THEMES[theme], v = (hash(name) >>> 16) / 0xffff;
    const mix = (f) => (1 - off) * 0.125 * f(58 * Math.PI / 180) +
      off * 0.1 * f(252 * Math.PI / 180);
    const a = mix(Math.cos), b = mix(Math.sin);
    return oklch(t.l0 + (t.l1 - t.l0) * v, Math.hypot(a, b) * t.scale,
      Math.atan2(b, a) * 180 / Math.PI);
  }

  function text(theme) {
    return THEMES[theme].text;
  }

  ns.colour = { KINDS, hash, oklch, contrast, frame, changed, state,
    text };
})(globalThis.MemLens = globalThis.MemLens || {});
