import assert from 'node:assert/strict';
import { test } from 'node:test';
import { intervalAt, moveSelection, spanOf } from './range-selection.js';

const press = (selection: Parameters<typeof moveSelection>[0], key: string, keepsAnchor = false) =>
  moveSelection(selection, { key, keepsAnchor, count: 30 });

test('arrow keys move the cursor within the intervals', () => {
  assert.deepEqual(press(null, 'ArrowLeft'), { anchor: 28, cursor: 28 });
  assert.deepEqual(press({ anchor: 3, cursor: 3 }, 'ArrowRight'), { anchor: 4, cursor: 4 });
  assert.deepEqual(press({ anchor: 3, cursor: 3 }, 'PageDown'), { anchor: 0, cursor: 0 });
  assert.deepEqual(press({ anchor: 3, cursor: 3 }, 'End'), { anchor: 29, cursor: 29 });
  assert.equal(press({ anchor: 3, cursor: 3 }, 'a'), null);
  assert.equal(moveSelection(null, { key: 'Home', keepsAnchor: false, count: 0 }), null);
});

test('the cursor extends the selection in both directions', () => {
  const selection = press(press(null, 'ArrowLeft'), 'PageDown', true);
  assert.deepEqual(selection && spanOf(selection), { first: 18, last: 28 });
  assert.deepEqual(selection && spanOf(press(selection, 'End', true) ?? selection), { first: 28, last: 29 });
});

test('a position belongs to an interval, outside the chart too', () => {
  assert.deepEqual(
    [-0.1, 0, 0.49, 0.5, 0.99, 1, 2].map((fraction) => intervalAt(fraction, 2)),
    [0, 0, 0, 1, 1, 1, 1],
  );
});
