import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineDifference } from './line-difference.js';

const changedTexts = (lines: readonly { text: string; isChanged: boolean }[]) =>
  lines.filter((line) => line.isChanged).map(({ text }) => text);

test('common lines are unchanged even if inserted lines moved them', () => {
  const { left, right } = lineDifference('a\nb\nc', 'a\nx\nb\nc');
  assert.deepEqual([changedTexts(left), changedTexts(right)], [[], ['x']]);
});

test('marks a different line on both sides', () => {
  const { left, right } = lineDifference('{\n  "a": 1\n}', '{\n  "a": 2\n}');
  assert.deepEqual([changedTexts(left), changedTexts(right)], [['  "a": 1'], ['  "a": 2']]);
});

test('compares very long texts by line number', () => {
  const long = Array.from({ length: 1_000 }, (_, line) => String(line));
  const other = long.with(500, 'other');
  const { left, right } = lineDifference(long.join('\n'), other.join('\n'));
  assert.deepEqual([changedTexts(left), changedTexts(right)], [['500'], ['other']]);
});
