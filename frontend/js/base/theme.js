/*
 * Light, dark or the system's choice.  Loaded before the first paint, not
 * deferred, so that a page never flashes in the other theme.
 */
(function (ns) {
  'use strict';

  const KEY = 'memlens-theme';
  const CHOICES = ['system', 'light', 'dark'];
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');
  const listeners = [];
  let choice = 'system';

  /* Storage is refused to some pages opened from files. */
  function stored() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  }

  function current() {
    return choice === 'system' ? (system.matches ? 'dark' : 'light') : choice;
  }

  function apply() {
    root.dataset.theme = current();
    root.dataset.themeChoice = choice;
    for (const fn of listeners)
      fn(current());
  }

  function set(next) {
    choice = CHOICES.includes(next) ? next : 'system';
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      /* The choice then lasts as long as the page. */
    }
    apply();
  }

  /* Wires the toggle button: system, light, dark, round and round. */
  function bind(button) {
    const show = () => {
      const label = 'Theme: ' + choice;
      button.setAttribute('aria-label', label + '. Change theme');
      button.title = label;
    };
    button.addEventListener('click', () => {
      set(CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length]);
      show();
    });
    show();
  }

  choice = CHOICES.includes(stored()) ? stored() : 'system';
  system.addEventListener('change', apply);
  apply();

  ns.theme = { current, set, bind, on: (fn) => listeners.push(fn),
    choice: () => choice };
})(globalThis.MemLens = globalThis.MemLens || {});
