/** Tests how long a quota waits for the bytes of search indexes, in simulated time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoredBytesCache } from './stored-bytes-cache.js';

function deferred() {
  let resolve: (bytes: number) => void = () => {};
  const promise = new Promise<number>((onDone) => {
    resolve = onDone;
  });
  return { promise, resolve };
}

test('a busy storage delays a quota only briefly; the latest known number counts until the read ends', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let reads = 0;
  let read = deferred();
  const latestBytes = new StoredBytesCache(() => {
    reads++;
    return read.promise;
  });
  const first = latestBytes.get('a');
  t.mock.timers.tick(1_000);
  assert.equal(await first, 0);
  const second = latestBytes.get('a');
  t.mock.timers.tick(100);
  assert.equal(await second, 0);
  read.resolve(7);
  assert.equal(await latestBytes.get('a'), 7);
  assert.equal(reads, 1, 'a read in progress is not repeated');

  read = deferred();
  const third = latestBytes.get('a');
  t.mock.timers.tick(100);
  assert.equal(await third, 7);
  read.resolve(8);
  assert.equal(await latestBytes.get('a'), 8);
  assert.equal(reads, 2);
});

test('a failed read is reported, and repeated by the next caller', async () => {
  const results = [Promise.reject<number>(new Error('lost')), Promise.resolve(3)];
  const latestBytes = new StoredBytesCache(() => results.shift() ?? Promise.resolve(-1));
  await assert.rejects(latestBytes.get('a'), /lost/);
  assert.equal(await latestBytes.get('a'), 3);
});
