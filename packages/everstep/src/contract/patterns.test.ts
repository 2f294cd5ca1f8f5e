import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PatternName, patternOption } from './patterns.js';

const matches = (name: PatternName, text: string): boolean => new RegExp(patternOption(name).pattern, 'u').test(text);

test('ids, names and notes contain no unpaired surrogates, which stores cannot keep', () => {
  const names: readonly PatternName[] = ['visible', 'note', 'withoutControls', 'storable', 'label', 'id'];
  for (const name of names) {
    for (const text of ['é', 'a b', '\u{1f3ac}', '\ufffd']) assert.ok(matches(name, text), `${name} ${JSON.stringify(text)}`);
    for (const text of ['\ud800', 'a\udc00', '\udc00\ud800', '\u{1f3ac}\ud83c', 'a\u0000'])
      assert.ok(!matches(name, text), `${name} ${JSON.stringify(text)}`);
  }
  assert.ok(matches('email', 'ada@example.com'));
  assert.ok(!matches('email', 'ada\ud800@example.com'));
});
