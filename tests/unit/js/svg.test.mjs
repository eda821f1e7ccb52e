/*
 * The script inside a flame graph's picture: what it shows of a part, counts
 * of a search, makes of keys and keeps in the address.
 */
import test from 'node:test';
import assert from 'node:assert/strict';
import { picture } from './svg-dom.mjs';

/* What a frame has of its own is its left part: total and main have 10. */
const FRAMES = [['total', 100, 0], ['main', 60, 1], ['read', 40, 2],
  ['write', 10, 2], ['idle', 30, 1]];
const rect = (g) => g.children[1];
const place = (p, name) => ['x', 'width'].map((k) =>
  parseFloat(rect(p.frame(name)).getAttribute(k)));
const label = (p, name) => p.frame(name).querySelector('text')?.textContent;
const names = (p) => (p.find('zoomed') ?? p.find('frames')).children.map(
  (g) => g.firstElementChild.textContent.replace(/ \(.*/, ''));
const matched = (p) => p.find('matched').textContent;

test('a click shows a part, its callers over the whole width', () => {
  const p = picture(FRAMES);
  p.fire(p.frame('main'), 'click');
  assert.deepEqual(names(p), ['total', 'main', 'read', 'write']);
  assert.deepEqual(place(p, 'total'), [0, 100]);
  assert.ok(p.frame('total').classList.contains('above'));
  assert.deepEqual(place(p, 'main'), [0, 100]);
  assert.ok(!p.frame('main').classList.contains('above'));
  assert.deepEqual(place(p, 'read').map(Math.round), [17, 67]);
  assert.deepEqual(place(p, 'write').map(Math.round), [83, 17]);
  assert.equal(p.find('reset').style.visibility, 'visible');
  assert.equal(p.find('frames').getAttribute('aria-hidden'), 'true');
  /* a second click goes back, and so do the button and Escape */
  p.fire(p.frame('main'), 'click');
  assert.equal(p.find('zoomed'), null);
  for (const back of [() => p.fire(p.find('reset'), 'click'),
    () => p.fire(null, 'keydown', { key: 'Escape' })]) {
    p.fire(p.frame('read'), 'click');
    assert.ok(p.find('zoomed'));
    back();
    assert.equal(p.find('zoomed'), null);
    assert.equal(p.find('frames').getAttribute('y'), '80');
  }
});

test('the layer looks as the picture does', () => {
  const p = picture(FRAMES);
  p.fire(p.frame('main'), 'click');
  const styles = p.document.documentElement.getElementsByTagName('style');
  assert.deepEqual(styles.map((s) => s.textContent), [
    'text { fill: #000; }\n#frames rect { stroke: #fff; }\n',
    '#zoomed rect { stroke: #fff; }']);
});

test('frames too narrow to see come with a zoom', () => {
  const p = picture([['total', 1e6, 0], ['main', 100, 1],
    ['thin', 60, 2, { class: 'narrow' }], ['rest', 5e5, 1]]);
  p.fire(p.frame('rest'), 'click');
  assert.deepEqual(names(p), ['total', 'rest']);
  p.fire(null, 'keydown', { key: 'Escape' });
  p.fire(p.frame('main'), 'click');
  assert.deepEqual(names(p), ['total', 'main', 'thin']);
  assert.ok(!p.frame('thin').classList.contains('narrow'));
});

test('a frame is named as far as there is room', () => {
  const p = picture([['total', 100, 0], ['a_long_name_of_a_function', 12, 1],
    ['x', 1, 1], ['std::vector (inlined)', 80, 1]]);
  assert.equal(label(p, 'total'), 'total');
  assert.equal(label(p, 'a_long_name_of_a_function'), 'a_long_name_of_..');
  assert.equal(label(p, 'x'), undefined);
  assert.equal(label(p, 'std::vector (inlined)'), 'std::vector (inlined)');
  p.width = 320;
  p.fire(null, 'resize');
  assert.equal(label(p, 'a_long_name_of_a_function'), 'a_..');
});

test('the title ends where the picture does, and comes back', () => {
  const p = picture(FRAMES, { title: 't'.repeat(60), width: 320 });
  const length = () => p.find('title').textContent.length;
  assert.equal(length(), 33);
  assert.ok(p.find('title').textContent.endsWith('t\u2026'));
  p.width = 1020;
  p.fire(null, 'resize');
  assert.equal(length(), 60);
});

test('the sign of a difference stands before the name', () => {
  const p = picture([['total', 100, 0], ['main', 50, 1, { 'data-s': '+' }]]);
  assert.equal(label(p, 'main'), '+ main');
});

test('a search counts what it finds once', () => {
  for (const [hash, text] of [
    ['#s=read', 'Matched: 40.00% in 1 frame'],
    ['#s=r(ead%7Cite)', 'Matched: 50.00% in 2 frames'],
    /* one is below the other */
    ['#s=main%7Cread', 'Matched: 60.00% in 2 frames'],
    ['#s=MAIN', 'Matched: 60.00% in 1 frame'],
    ['#s=MAIN&case=1', 'Matched: 0.00% in 0 frames'],
    /* the whole is no find, and samples are no part of a name */
    ['#s=total', 'Matched: 0.00% in 0 frames'],
    ['#s=samples', 'Matched: 0.00% in 0 frames'],
    ['#s=(', 'Invalid regular expression: /(/i: Unterminated group'],
    ['#s=%', ''], ['', '']]) {
    const p = picture(FRAMES);
    p.go(hash);
    assert.equal(matched(p), text, hash);
  }
});

test('what is found is marked, in a part as well', () => {
  const p = picture(FRAMES, { hash: '#s=read' });
  const hits = () => names(p).filter((n) => p.frame(n).classList
    .contains('hit'));
  assert.deepEqual(hits(), ['read']);
  assert.ok(p.find('frames').classList.contains('searched'));
  p.fire(p.frame('main'), 'click');
  assert.deepEqual(hits(), ['read']);
  assert.equal(p.location.hash, '#l=1&x=0.400000000000&s=read');
  p.fire(p.find('clear'), 'click');
  assert.deepEqual(hits(), []);
  assert.equal(p.find('clear').style.visibility, 'hidden');
  assert.equal(matched(p), '');
});

test('a field takes the search, and gives the focus back', () => {
  const p = picture(FRAMES);
  const type = (text, key) => {
    p.fire(null, 'keydown', { key: '/' });
    const [field] = p.document.documentElement.getElementsByTagName('input');
    assert.equal(p.document.activeElement, field);
    field.value = text;
    p.fire(field, 'input');
    const seen = matched(p);
    p.fire(field, 'keydown', { key });
    assert.equal(p.document.activeElement, p.frame('total'));
    return [seen, matched(p)];
  };
  const found = 'Matched: 30.00% in 1 frame';
  assert.deepEqual(type('idle', 'Enter'), [found, found]);
  assert.equal(p.location.hash, '#s=idle');
  assert.deepEqual(type('idl', 'Escape'), [found, '']);
  assert.equal(p.document.documentElement.getElementsByTagName('input').length,
    1);
});

test('where there is no field, a question is asked', () => {
  let answer = 'write';
  const p = picture(FRAMES, { prompt: () => answer });
  p.fire(null, 'keydown', { key: 'F3' });
  assert.equal(matched(p), 'Matched: 10.00% in 1 frame');
  answer = null;
  p.fire(p.find('search'), 'click');
  assert.equal(matched(p), 'Matched: 10.00% in 1 frame');
});

test('the state is in the address, and comes back from it', () => {
  const p = picture(FRAMES);
  p.fire(p.frame('write'), 'click');
  assert.equal(p.location.hash, '#l=2&x=0.650000000000');
  const again = picture(FRAMES, { hash: p.location.hash });
  assert.deepEqual(names(again), ['total', 'main', 'write']);
  again.go('#l=1&x=0.85');
  assert.deepEqual(names(again), ['total', 'idle']);
  again.go('#l=7&x=0.85');
  assert.equal(again.find('zoomed'), null);
  again.go('#nonsense&l=&x=');
  assert.equal(again.find('zoomed'), null);
});

test('arrow keys walk, Enter shows', () => {
  for (const up of [false, true]) {
    const p = picture(FRAMES, { up });
    const at = () => p.find('details').textContent.replace(/ \(.*/, '');
    const press = (key) => p.fire(p.document.activeElement, 'keydown', { key });
    const [back, on] = up ? ['ArrowDown', 'ArrowUp'] : ['ArrowUp', 'ArrowDown'];
    p.frame('total').focus();
    for (const [key, name] of [[on, 'main'], [on, 'read'],
      ['ArrowRight', 'write'], ['ArrowRight', 'write'], ['ArrowLeft', 'read'],
      [back, 'main'], ['ArrowRight', 'idle'], [on, 'idle'], ['Home', 'total'],
      [back, 'total']]) {
      assert.ok(press(key).prevented, key);
      assert.equal(at(), name, key);
    }
    press(on);
    press('Enter');
    assert.deepEqual(names(p), ['total', 'main', 'read', 'write']);
    assert.equal(p.document.activeElement, p.frame('main'));
    assert.ok(!press('x').prevented);
  }
});

test('one frame can be reached by Tab', () => {
  const p = picture(FRAMES);
  const tabs = () => names(p).filter((n) => p.frame(n)
    .getAttribute('tabindex') === '0');
  assert.deepEqual(tabs(), ['total']);
  p.fire(p.frame('idle'), 'click');
  assert.deepEqual(tabs(), ['idle']);
  assert.equal(p.frame('idle').getAttribute('aria-level'), '2');
});

test('a large picture is not touched before it is asked for something', () => {
  const many = [['total', 6000, 0]];
  for (let i = 0; i < 6000; i++)
    many.push(['f' + i, 1, 1]);
  const p = picture(many);
  assert.equal(p.frame('f7').getAttribute('role'), null);
  assert.equal(p.frame('f7').frame, undefined);
  p.go('#s=f7');
  assert.equal(matched(p), 'Matched: 1.85% in 111 frames');
});

test('a picture of nothing stands still', () => {
  const p = picture([]);
  assert.equal(p.find('search').style.visibility, undefined);
  assert.equal(p.document.listeners.length, 0);
});
