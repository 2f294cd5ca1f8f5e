import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineDifference } from './line-difference.js';

const changed = (lines: readonly { text: string; changed: boolean }[]) =>
  lines.filter((line) => line.changed).map(({ text }) => text);

test('lines that both have are the same, wherever they moved to by what was put in', () => {
  const { left, right } = lineDifference('a\nb\nc', 'a\nx\nb\nc');
  assert.deepEqual([changed(left), changed(right)], [[], ['x']]);
});

test('a line that differs is marked on both sides', () => {
  const { left, right } = lineDifference('{\n  "a": 1\n}', '{\n  "a": 2\n}');
  assert.deepEqual([changed(left), changed(right)], [['  "a": 1'], ['  "a": 2']]);
});

test('texts that are too long for all pairs of lines are compared place by place', () => {
  const long = Array.from({ length: 1_000 }, (_, line) => String(line));
  const other = long.with(500, 'other');
  const { left, right } = lineDifference(long.join('\n'), other.join('\n'));
  assert.deepEqual([changed(left), changed(right)], [['500'], ['other']]);
});
