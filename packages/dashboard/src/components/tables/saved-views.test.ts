import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addView, changeViews, removeView, type SavedView, savedViews, viewsIn } from './saved-views.js';

const view = (name: string, search = '?label=eu'): SavedView => ({ page: 'runs', name, search });

test('a view replaces a view with the same name on the same page', () => {
  const views = addView([view('EU'), { ...view('EU'), page: 'events' }], view(' EU ', '?label=us'));
  assert.deepEqual(views, [{ ...view('EU'), page: 'events' }, view('EU', '?label=us')]);
  assert.deepEqual(removeView(views, view('EU')), [{ ...view('EU'), page: 'events' }]);
});

test('values in browser storage that are not saved views are ignored', () => {
  assert.deepEqual(viewsIn(null), []);
  assert.deepEqual(viewsIn('{'), []);
  assert.deepEqual(viewsIn('{"page":"runs"}'), []);
  assert.deepEqual(viewsIn(JSON.stringify([null, 1, { page: 'runs' }, view('x', '//evil.test'), view('EU')])), [view('EU')]);
});

test('a change keeps the views that another tab has saved since the last read', (context) => {
  const stored = new Map<string, string>();
  const storage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, text: string) => void stored.set(key, text),
  };
  const originalDescriptor = Object.getOwnPropertyDescriptor(globalThis, 'localStorage');
  Object.defineProperty(globalThis, 'localStorage', { value: storage, configurable: true });
  context.after(() => {
    Reflect.deleteProperty(globalThis, 'localStorage');
    if (originalDescriptor !== undefined) Object.defineProperty(globalThis, 'localStorage', originalDescriptor);
  });
  changeViews((views) => addView(views, view('EU')));
  assert.deepEqual(savedViews(), [view('EU')]);
  // React renders again whenever it gets another array.
  assert.equal(savedViews(), savedViews());
  const [key = ''] = stored.keys();
  stored.set(key, JSON.stringify([view('EU'), view('of another tab')]));
  changeViews((views) => addView(views, view('US')));
  assert.deepEqual(savedViews(), [view('EU'), view('of another tab'), view('US')]);
  assert.deepEqual(viewsIn(stored.get(key) ?? null), savedViews());
});
