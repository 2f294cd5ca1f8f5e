import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addView, removeView, type SavedView, viewsIn } from './saved-views.js';

const view = (name: string, search = '?label=eu'): SavedView => ({ page: 'runs', name, search });

test('a view replaces a view with the same name on the same page', () => {
  const views = addView([view('EU'), { ...view('EU'), page: 'events' }], view(' EU ', '?label=us'));
  assert.deepEqual(views, [{ ...view('EU'), page: 'events' }, view('EU', '?label=us')]);
  assert.deepEqual(removeView(views, view('EU')), [{ ...view('EU'), page: 'events' }]);
});

test('anything else in the storage of the browser is ignored', () => {
  assert.deepEqual(viewsIn(null), []);
  assert.deepEqual(viewsIn('{'), []);
  assert.deepEqual(viewsIn('{"page":"runs"}'), []);
  assert.deepEqual(viewsIn(JSON.stringify([null, 1, { page: 'runs' }, view('x', '//evil.test'), view('EU')])), [view('EU')]);
});
