import assert from 'node:assert/strict';
import { test } from 'node:test';
import { truncateText } from './truncated-text.js';

test('a text is truncated between characters', () => {
  const text = `a${'😀'.repeat(3)}`;
  assert.deepEqual(
    [0, 1, 2, 3, 4, 6, 7, 8].map((length) => truncateText(text, length)),
    ['', 'a', 'a', 'a😀', 'a😀', 'a😀😀', text, text],
  );
  assert.equal(truncateText('a\ud83d', 2), 'a\ud83d', 'a text that is not truncated does not change');
});
