import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { abortOnSignal } from './shutdown.js';

test('the first signal aborts the work and prints the notice once; its listeners are removed when the work has ended', async () => {
  const counts = () => (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((name) => process.listenerCount(name));
  const before = counts();
  const printed: string[] = [];
  const work = abortOnSignal({ printError: (text) => printed.push(text) }, 'Interrupted ...', async (signal) => {
    await once(signal, 'abort');
    return 'cleaned up';
  });
  assert.notDeepEqual(counts(), before);
  process.emit('SIGINT', 'SIGINT');
  process.emit('SIGTERM', 'SIGTERM');
  assert.equal(await work, 'cleaned up');
  assert.deepEqual(printed, ['Interrupted ...\n']);
  assert.deepEqual(counts(), before);
});
