import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NameTurns } from './name-turns.js';

const turnsOf = (...names: readonly string[]): NameTurns => {
  const turns = new NameTurns();
  for (const name of names) turns.add(name);
  return turns;
};

test('a name that was served moves behind the others', () => {
  const turns = turnsOf('a', 'b', 'c', 'a');
  turns.moveBehind('a');
  turns.moveBehind('unknown');
  assert.deepEqual([...turns.names()], ['b', 'c', 'a']);
  turns.delete('c');
  assert.deepEqual([[...turns.names()], turns.size], [['b', 'a'], 2]);
});

test('names that are parked are passed over, and keep their order when they are woken', () => {
  const turns = turnsOf('a', 'b', 'c', 'd');
  turns.moveBehind('a');
  for (const name of ['a', 'b', 'c']) turns.park(name);
  turns.add('b');
  assert.deepEqual([...turns.names()], ['d']);
  assert.deepEqual(turns.wake(new Set(['unknown'])), []);
  turns.delete('c');
  assert.deepEqual(turns.wake(new Set(['a', 'b', 'c'])), ['b', 'a']);
  assert.deepEqual([...turns.names()], ['d', 'b', 'a']);
});
