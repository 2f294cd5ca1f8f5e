import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { StreamedJson, StreamedList } from './streamed-json.js';

async function* parts(...lists: readonly (readonly unknown[])[]): AsyncGenerator<readonly unknown[]> {
  yield* lists;
}

test('the text equals that of the whole value', async () => {
  const cases: readonly (readonly [
    body: (list: (...lists: unknown[][]) => StreamedList<unknown>) => StreamedList<unknown> | Record<string, unknown>,
    whole: unknown,
  ])[] = [
    [(list) => list(), []],
    [(list) => list([], [1, 'a"\n'], [], [{ b: undefined, c: null }]), [1, 'a"\n', { c: null }]],
    [(list) => ({ x: list() }), { x: [] }],
    [
      (list) => ({ a: 1, b: undefined, 'é"': list([1], [2]), c: list(), d: { e: [] }, f: list([undefined]) }),
      { a: 1, 'é"': [1, 2], c: [], d: { e: [] }, f: [null] },
    ],
    [() => ({}), {}],
  ];
  for (const [body, whole] of cases) {
    const streamed = new StreamedJson(body((...lists) => new StreamedList(parts(...lists))));
    assert.equal(await text(streamed.stream()), JSON.stringify(whole));
  }
});

test('reads a part when the previous one was sent, and stops when the client disconnects', async () => {
  let read = 0;
  async function* endless(): AsyncGenerator<readonly number[]> {
    for (;;) yield [++read];
  }
  const stream = new StreamedJson(new StreamedList(endless())).stream();
  const taken = stream[Symbol.asyncIterator]();
  for (let n = 0; n < 5; n++) await taken.next();
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(read <= 8, `${read} parts were read for 5 that were taken`);
  stream.destroy();
  const before = read;
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(read <= before + 1);
});
