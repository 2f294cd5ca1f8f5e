import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BurstGate } from './burst-gate.js';

const T0 = 1_800_000_000_000;
const burstOf = (gate: BurstGate, triggers: number, at: number) => {
  for (let i = 0; i < triggers; i++) gate.runCreated(at);
};

test('without a burst every new run may start', () => {
  const gate = new BurstGate();
  burstOf(gate, 40, T0);
  assert.equal(gate.takeStarts(T0, { count: 500, oldestSince: T0 }), Number.POSITIVE_INFINITY);
});

test('in a burst one run starts for every eight triggers', () => {
  const gate = new BurstGate();
  burstOf(gate, 160, T0);
  assert.equal(gate.takeStarts(T0, { count: 160, oldestSince: T0 }), 20);
  assert.equal(gate.takeStarts(T0, { count: 140, oldestSince: T0 }), 0);
});

test('a short queue is not held back', () => {
  const gate = new BurstGate();
  burstOf(gate, 160, T0);
  assert.equal(gate.takeStarts(T0, { count: 64, oldestSince: T0 }), Number.POSITIVE_INFINITY);
});

test('no run waits longer than the limit, however long the burst is', () => {
  const gate = new BurstGate();
  for (let at = T0; at <= T0 + 2000; at += 50) burstOf(gate, 100, at);
  assert.equal(gate.takeStarts(T0 + 2000, { count: 900, oldestSince: T0 + 499 }), Number.POSITIVE_INFINITY);
});

test('a burst ends with its triggers', () => {
  const gate = new BurstGate();
  burstOf(gate, 160, T0);
  assert.ok(Number.isFinite(gate.takeStarts(T0 + 60, { count: 160, oldestSince: T0 })));
  assert.equal(gate.takeStarts(T0 + 120, { count: 160, oldestSince: T0 }), Number.POSITIVE_INFINITY);
});
