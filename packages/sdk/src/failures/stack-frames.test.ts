import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { frameLines, isOwnFile, ownFrame, parseFrame, sourceOf } from './stack-frames.js';

describe('a frame', () => {
  const cases: readonly (readonly [
    line: string,
    expected: readonly [file: string, line: number, column: number, fn: string | null],
  ])[] = [
    ['at charge (file:///app/src/charge.js:7:13)', ['file:///app/src/charge.js', 7, 13, 'charge']],
    ['at async Orders.pay [as run] (/app/(group)/x.ts:1:2)', ['/app/(group)/x.ts', 1, 2, 'Orders.pay']],
    ['at new Order (C:\\app\\order.js:3:4)', ['C:\\app\\order.js', 3, 4, 'Order']],
    ['    at file:///app/x.mjs:7:48', ['file:///app/x.mjs', 7, 48, null]],
    ['at async file:///app/x.mjs:7:48', ['file:///app/x.mjs', 7, 48, null]],
    ['at Object.<anonymous> (/app/x.js:1:1)', ['/app/x.js', 1, 1, null]],
    ['at Object.charge (/app/x.js:1:1)', ['/app/x.js', 1, 1, 'charge']],
  ];
  for (const [line, [file, row, column, fn]] of cases)
    test(`is read from ${line.trim()}`, () => {
      assert.deepEqual(parseFrame(line), { file, line: row, column, function: fn });
    });

  for (const line of [
    'at <anonymous>',
    'at Array.map (<anonymous>)',
    'at native',
    'Error: at x',
    'at eval (eval at f (/app/x.js:1:1), <anonymous>:1:1)',
  ])
    test(`is not read from ${line}`, () => {
      const frame = parseFrame(line);
      assert.ok(frame === null || !isOwnFile(frame.file), JSON.stringify(frame));
    });
});

test('the first own frame is not in Node, in an installed package or in the SDK', () => {
  const lines = [
    'at new Promise (<anonymous>)',
    'at read (node:fs:1:2)',
    'at query (/app/node_modules/pg/lib/query.js:3:4)',
    'at Execution.execute (@everstep/sdk/executor/execution.js:9:9)',
    'at charge (file:///app/src/pay%20now.js:7:13)',
    'at run (file:///app/src/index.js:1:1)',
  ];
  const frame = ownFrame(lines);
  assert.ok(frame);
  assert.deepEqual(sourceOf(frame), { file: '/app/src/pay now.js', line: 7, column: 13, function: 'charge' });
  assert.equal(sourceOf(frame, '/app').file, 'src/pay now.js');
  assert.equal(sourceOf(frame, '/ap').file, '/app/src/pay now.js');
});

test('lines of a message that imitate frames are not frames', () => {
  const message = 'upstream failed\n    at steal (/app/secret.js:1:1)';
  const stack = `Error: ${message}\n    at charge (/app/x.js:7:13)`;
  assert.deepEqual(frameLines(stack, message), { lines: ['at charge (/app/x.js:7:13)'], isCertain: true });
  assert.equal(frameLines(stack, 'another message').isCertain, false);
});

test('hostile stacks are read in constant time', () => {
  const started = performance.now();
  for (const piece of ['at ', 'at a (', ':1:1', '\n    at x', ' (', 'a:1', '(((', '\\']) {
    const { lines } = frameLines(piece.repeat(1_000_000 / piece.length), '');
    ownFrame(lines);
  }
  assert.ok(performance.now() - started < 2_000);
});
