/*
 * The script inside a flame graph's picture, which needs nothing else: zoom
 * by click or Enter, search by a regular expression with the share of what
 * matches, a walk by arrow keys, the state behind the '#' of the address.
 * It reads data-w (ticks), the order of frames and their rows, and knows
 * nothing else.  On load it touches the root and the labels only: a picture
 * may have 300,000 frames.
 *
 * Pictures have all but this comment, as XML's CDATA: no "]]>".
 */
(function () {
'use strict';
var root = document.documentElement, ns = root.namespaceURI;
function id(name) { return document.getElementById(name); }
var area = id('frames'), details = id('details'), matched = id('matched');
var reset = id('reset'), clear = id('clear'), cased = id('case');
var up = !!area.dataset.up, ROW = 16, LABEL = 25, SEEN = 0.2, BIG = 5000;
root.setAttribute('width', '100%');
var heads = ['title', 'subtitle', 'how'].map(id).filter(Boolean).map(
  function (node) { return { node: node, text: node.textContent }; });
function fit() {
  var room = root.getBoundingClientRect().width - 20;
  heads.forEach(function (h) {
    var most = Math.floor(room / (h.node.id === 'title' ? 9.03 : 6.62));
    h.node.textContent = h.text.length <= most ? h.text :
      h.text.slice(0, Math.max(0, most - 1)) + '\u2026';
  });
}
fit();
window.addEventListener('resize', fit);
if (!area.firstElementChild)
  return;
/* A large picture is touched as little as can be: what follows is made when
   it is first needed, and a zoomed picture is a layer of its own.
   Frames come before their callees; what a frame has of its own is its left
   part, then come its callees from left to right.  A frame is a number. */
var n = 0, els, names = [], W, X, level, parent, end, isHit;
function rectOf(g) { return g.firstElementChild.nextElementSibling; }
function rowOf(g) { return rectOf(g).getAttribute('y') / ROW; }
function weight(g) { return +g.getAttribute('data-w'); }
function index() {
  var i, p, g, base = rowOf(area.firstElementChild), open = [], sum, next;
  if (n)
    return;
  els = Array.prototype.slice.call(area.children);
  n = els.length;
  W = new Float64Array(n);
  X = new Float64Array(n);
  sum = new Float64Array(n);
  next = new Float64Array(n);
  level = new Int32Array(n);
  parent = new Int32Array(n);
  end = new Int32Array(n);
  isHit = new Uint8Array(n);
  for (i = 0; i < n; i++) {
    g = els[i];
    g.frame = i;
    W[i] = weight(g);
    level[i] = Math.abs(rowOf(g) - base);
    parent[i] = p = level[i] ? open[level[i] - 1] : -1;
    if (p >= 0)
      sum[p] += W[i];
    open[level[i]] = i;
  }
  for (i = 0; i < n; i++) {
    p = parent[i];
    if (p >= 0) {
      X[i] = next[p];
      next[p] += W[i];
    }
    next[i] = X[i] + Math.max(0, W[i] - sum[i]);
  }
  for (i = n - 1; i >= 0; i--) {
    end[i] = Math.max(end[i], i + 1);
    if (parent[i] >= 0)
      end[parent[i]] = Math.max(end[parent[i]], end[i]);
  }
}
function title(g) { return g.firstElementChild.textContent; }
function nameIn(text) { return text.slice(0, text.lastIndexOf(' (')); }
function name(i) {
  if (names[i] === undefined)
    names[i] = nameIn(title(els[i]));
  return names[i];
}
var view = 0, width = 0, query = '', any = true, current = 0, hits = [];
var layer = null, clones = null, roved = null;
var style = root.querySelector('style'), styled = null;
var top = area.getAttribute('y');
var rests = id('rests');
/* The element that stands for a frame now, if one does. */
function shown(i) {
  return layer ? clones[i] :
    els[i].classList.contains('narrow') ? null : els[i];
}
function textOf(g) {
  return g.lastElementChild.nodeName === 'text' ? g.lastElementChild : null;
}
function write(g, x, share) {
  var room = Math.floor((share * width - 6) / 6.62), s = '';
  var text = textOf(g);
  var sign = g.dataset.s ? g.dataset.s + ' ' : '';
  if (room >= 3 + sign.length) {
    s = sign + nameIn(title(g));
    if (s.length > room)
      s = s.slice(0, room - 2) + '..';
  }
  if (!text && s) {
    text = document.createElementNS(ns, 'text');
    text.setAttribute('dx', 3);
    text.setAttribute('y', +rectOf(g).getAttribute('y') + 11);
    g.appendChild(text);
  }
  if (!text)
    return;
  if (text.textContent !== s)
    text.textContent = s;
  text.setAttribute('x', 100 * x + '%');
}
/* The whole picture: it stands there, its labels follow the width. */
function relabel() {
  var all = weight(area.firstElementChild), i, texts =
    Array.prototype.slice.call(area.getElementsByTagName('text'));
  texts.forEach(function (text) {
    var g = text.parentNode, s = parseFloat(text.getAttribute('x')) / 100;
    write(g, s, weight(g) / all);
  });
  for (i = 0; i < n; i++)
    if (W[i] / all * width >= LABEL && !textOf(els[i]))
      write(els[i], X[i] / all, W[i] / all);
}
function place(i, x, share, above) {
  var g = els[i].cloneNode(true), rect = rectOf(g);
  g.frame = i;
  g.classList.toggle('above', above);
  g.classList.remove('narrow');
  rect.setAttribute('x', 100 * x + '%');
  rect.setAttribute('width', 100 * share + '%');
  write(g, x, share);
  clones[i] = g;
  return g;
}
/* The layer looks as the picture does. */
function addStyle() {
  styled = style.cloneNode(false);
  styled.textContent = style.textContent.split('\n').filter(function (line) {
    return /^(#frames|@media|})/.test(line);
  }).join('\n').replace(/#frames/g, '#zoomed');
  root.insertBefore(styled, style.nextSibling);
}
/* A part: its callers over the whole width, and what can be seen of it. */
function makeLayer() {
  var list = document.createDocumentFragment(), i, callers = [];
  clones = {};
  layer = area.cloneNode(false);
  layer.setAttribute('id', 'zoomed');
  layer.setAttribute('y', top);
  layer.removeAttribute('aria-hidden');
  if (!styled)
    addStyle();
  for (i = parent[view]; i >= 0; i = parent[i])
    callers.unshift(i);
  callers.forEach(function (c) { list.appendChild(place(c, 0, 1, true)); });
  for (i = view; i < end[view];)
    if (W[i] / W[view] * width >= SEEN || i === view) {
      list.appendChild(place(i, (X[i] - X[view]) / W[view],
        W[i] / W[view], false));
      i++;
    } else {
      i = end[i];
    }
  layer.appendChild(list);
  area.parentNode.insertBefore(layer, area);
}
function draw() {
  var focused = frameOf(document.activeElement) >= 0;
  width = Math.max(80, root.getBoundingClientRect().width - 20);
  if (+area.getAttribute('width') !== width)
    area.setAttribute('width', width);
  rove(null);
  if (layer)
    layer.parentNode.removeChild(layer);
  layer = clones = null;
  /* Moved away it needs no new layout, as it would when not displayed. */
  area.setAttribute('y', view ? -1e7 : top);
  if (rests) {
    rests.setAttribute('y', view ? -1e7 : top);
    rests.setAttribute('width', width);
  }
  area.setAttribute('aria-hidden', !!view);
  if (view)
    makeLayer();
  else
    relabel();
  if (n && !shown(current))
    current = view;
  rove(n ? shown(current) : area.firstElementChild);
  if (focused)
    roved.focus();
  reset.style.visibility = view ? 'visible' : 'hidden';
}
/* The state is behind the '#': a frame by its level and its middle. */
function save() {
  var parts = [];
  if (view)
    parts.push('l=' + level[view], 'x=' +
      ((X[view] + W[view] / 2) / W[0]).toPrecision(12));
  if (query)
    parts.push('s=' + encodeURIComponent(query));
  if (query && !any)
    parts.push('case=1');
  try {
    history.replaceState(null, '', '#' + parts.join('&'));
  } catch (e) { /* a place without history */ }
}
function load() {
  var state = {}, x, l, i;
  location.hash.slice(1).split('&').forEach(function (part) {
    var at = part.indexOf('=');
    if (at > 0)
      state[part.slice(0, at)] = part.slice(at + 1);
  });
  view = 0;
  if (state.l || state.s || area.childElementCount <= BIG)
    index();
  x = +state.x * (n ? W[0] : 0);
  l = +state.l;
  for (i = 0; i < n; i++)
    if (level[i] === l && X[i] <= x && x < X[i] + W[i])
      view = i;
  any = !state['case'];
  try {
    query = decodeURIComponent(state.s || '');
  } catch (e) {
    query = '';
  }
  draw();
  mark();
}
function zoom(i) {
  view = i;
  draw();
  save();
}
/* Frames stand from left to right, callers first. */
function share(list) {
  var last = -1, sum = 0;
  list.forEach(function (i) {
    var from = Math.max(X[i], last), to = X[i] + W[i];
    if (to > from) {
      sum += to - from;
      last = to;
    }
  });
  return sum / W[0];
}
function show(i, on) {
  isHit[i] = on;
  els[i].classList.toggle('hit', on);
  if (layer && clones[i])
    clones[i].classList.toggle('hit', on);
}
function find(re) {
  var known = Object.create(null), found = [], i, s;
  for (i = 1; re && i < n; i++) {
    s = name(i);
    if (known[s] === undefined)
      known[s] = re.test(s);
    if (known[s])
      found.push(i);
  }
  return found;
}
function mark() {
  var re = null;
  if (query)
    index();
  try {
    re = query ? new RegExp(query, any ? 'i' : '') : null;
  } catch (e) {
    matched.textContent = e.message;
    return;
  }
  hits.forEach(function (i) { show(i, false); });
  hits = find(re);
  hits.forEach(function (i) { show(i, true); });
  [area, layer].forEach(function (a) {
    if (a)
      a.classList.toggle('searched', !!re);
  });
  clear.style.visibility = re ? 'visible' : 'hidden';
  cased.style.visibility = re ? 'visible' : 'hidden';
  cased.setAttribute('aria-label', 'Ignore case');
  cased.setAttribute('aria-pressed', String(any));
  cased.style.opacity = any ? 1 : 0.5;
  matched.textContent = re ? 'Matched: ' + (100 * share(hits)).toFixed(2) +
    '% in ' + hits.length + (hits.length === 1 ? ' frame' : ' frames') : '';
}
function search(text) {
  query = text;
  mark();
  save();
}
/* A field of HTML; where there can be none, a question. */
var box = null, field = null, typing = 0;
/* In a large picture the search waits for the end of the word. */
function typed() {
  clearTimeout(typing);
  if (n <= BIG)
    search(field.value);
  else
    typing = setTimeout(function () { search(field.value); }, 300);
}
function ask() {
  index();
  if (!field && !makeField()) {
    var text = window.prompt('Search: a regular expression', query);
    if (text !== null)
      search(text);
    return;
  }
  box.style.display = '';
  field.value = query;
  field.focus();
  field.select();
}
function closeField() {
  clearTimeout(typing);
  if (field.value !== query)
    search(field.value);
  box.style.display = 'none';
  roved.focus();
}
function makeField() {
  var xhtml = 'http://www.w3.org/1999/xhtml';
  box = document.createElementNS(ns, 'foreignObject');
  field = document.createElementNS(xhtml, 'input');
  if (!field.style || !('value' in field))
    return false;
  box.setAttribute('x', 10);
  box.setAttribute('y', 4);
  box.setAttribute('width', '60%');
  box.setAttribute('height', 30);
  field.setAttribute('type', 'search');
  field.setAttribute('aria-label', 'Search, a regular expression');
  field.setAttribute('placeholder', 'regular expression, Enter, Esc');
  field.style.cssText = 'box-sizing:border-box;width:100%;height:26px;' +
    'max-width:420px;font:13px sans-serif';
  field.addEventListener('input', typed);
  field.addEventListener('keydown', function (e) {
    e.stopPropagation();
    if (e.key === 'Escape')
      field.value = '';
    if (e.key === 'Escape' || e.key === 'Enter')
      closeField();
  });
  box.appendChild(field);
  root.appendChild(box);
  return true;
}
/* One frame at a time can be reached by Tab; arrows go on from it. */
function rove(g) {
  if (roved)
    roved.setAttribute('tabindex', -1);
  roved = g;
  if (!g)
    return;
  g.setAttribute('tabindex', 0);
  g.setAttribute('role', 'treeitem');
  g.setAttribute('aria-level', n ? level[g.frame] + 1 : 1);
}
function focus(i) {
  if (i < 0 || !shown(i))
    return;
  current = i;
  rove(shown(i));
  roved.focus();
}
function widestKid(i) {
  var best = -1, k;
  for (k = i + 1; k < end[i]; k = end[k])
    if (shown(k) && (best < 0 || W[k] > W[best]))
      best = k;
  return best;
}
function beside(i, step) {
  for (var k = i + step; k >= 0 && k < n; k += step)
    if (level[k] === level[i] && shown(k))
      return k;
  return -1;
}
var keys = {
  ArrowLeft: function (i) { return beside(i, -1); },
  ArrowRight: function (i) { return beside(i, 1); },
  ArrowUp: function (i) { return up ? widestKid(i) : parent[i]; },
  ArrowDown: function (i) { return up ? parent[i] : widestKid(i); },
  Home: function () { return 0; }
};
/* The group of a frame, or null. */
function groupOf(target) {
  return target && target.closest ?
    target.closest('#frames > g, #zoomed > g') : null;
}
function frameOf(target) {
  var g = groupOf(target);
  if (g)
    index();
  return g ? g.frame : -1;
}
if (area.childElementCount <= BIG) {
  index();
  els.forEach(function (g, i) {
    g.setAttribute('role', 'treeitem');
    g.setAttribute('aria-level', level[i] + 1);
  });
}
area.setAttribute('role', 'tree');
area.setAttribute('tabindex', -1); /* its frames are reached, not it */
area.setAttribute('aria-label', 'Frames: arrows walk, Enter zooms, ' +
  'Escape goes back');
document.addEventListener('click', function (e) {
  var i = frameOf(e.target);
  if (i >= 0) {
    focus(i);
    zoom(i === view ? 0 : i);
  }
});
/* Of the document: an element that hears of focus can be reached by Tab. */
['mouseover', 'focusin'].forEach(function (type) {
  document.addEventListener(type, function (e) {
    var g = groupOf(e.target);
    if (g)
      details.textContent = title(g);
  });
});
document.addEventListener('focusin', function (e) {
  if (groupOf(e.target) && n)
    current = frameOf(e.target);
});
document.addEventListener('keydown', function (e) {
  var i;
  if (e.ctrlKey || e.metaKey || e.altKey || !groupOf(e.target))
    return;
  i = frameOf(e.target);
  if (e.key === 'Enter' || e.key === ' ') {
    zoom(i === view ? 0 : i);
    e.preventDefault();
  } else if (keys[e.key]) {
    focus(keys[e.key](i));
    e.preventDefault();
  }
});
function button(node, act) {
  node.setAttribute('tabindex', 0);
  node.addEventListener('click', act);
  node.addEventListener('keydown', function (e) {
    if (e.key === 'Enter' || e.key === ' ') {
      act();
      e.preventDefault();
    }
  });
}
button(reset, function () { zoom(0); });
button(id('search'), ask);
button(clear, function () { search(''); });
button(cased, function () {
  any = !any;
  mark();
  save();
});
window.addEventListener('keydown', function (e) {
  var wanted = (e.ctrlKey || e.metaKey) && e.key === 'f';
  if (wanted || e.key === 'F3' || (e.key === '/' && !e.ctrlKey)) {
    e.preventDefault();
    ask();
  } else if (e.key === 'Escape') {
    if (query)
      search('');
    else if (view)
      zoom(0);
  }
});
window.addEventListener('resize', function () {
  if (Math.max(80, root.getBoundingClientRect().width - 20) !== width)
    draw();
});
window.addEventListener('hashchange', load);
id('search').style.visibility = 'visible';
load();
})();
