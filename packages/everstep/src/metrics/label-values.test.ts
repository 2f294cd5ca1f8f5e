import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LabelValues, labelOfUrl, OTHER } from './label-values.js';

test('up to `maxNames` names have their own value, and all others share one', () => {
  const values = new LabelValues(2);
  assert.deepEqual(
    ['a', 'b', 'c', 'a', 'd'].map((name) => values.valueOf(name)),
    ['a', 'b', OTHER, 'a', OTHER],
  );
});

test('a name that becomes far more frequent replaces the rarest one', () => {
  const dropped: string[] = [];
  const values = new LabelValues(2, (name) => dropped.push(name));
  for (const name of ['rare', 'common', 'common', 'common', 'common', 'common', 'common']) values.valueOf(name);
  assert.deepEqual(
    Array.from({ length: 4 }, () => values.valueOf('new')),
    [OTHER, 'new', 'new', 'new'],
  );
  assert.deepEqual(dropped, ['rare']);
  assert.equal(values.valueOf('rare'), OTHER);
});

test('a million different names need bounded memory, and a frequent name keeps its value', () => {
  const values = new LabelValues(3);
  for (let n = 0; n < 20_000; n++) {
    values.valueOf(`once-${n}`);
    assert.ok(['frequent', OTHER].includes(values.valueOf('frequent')));
  }
  assert.equal(values.valueOf('frequent'), 'frequent');
});

test('with a maximum of 0, every name is "other"', () => {
  assert.equal(new LabelValues(0).valueOf('a'), OTHER);
});

test('the label of a URL has no query, fragment, user or password, and a bounded length', () => {
  assert.equal(labelOfUrl('https://user:secret@app.example/flow?token=1#x'), 'https://app.example/flow');
  assert.equal(labelOfUrl('worker://shop/order'), 'worker://shop/order');
  assert.equal(labelOfUrl(`https://app.example/${'x'.repeat(1_000)}`).length, 200);
});
