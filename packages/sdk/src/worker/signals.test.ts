import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { onDrainSignal } from './signals.js';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Collects the signals that the process sends to itself. */
function watchKill(test: TestContext): readonly unknown[] {
  const sentSignals: unknown[] = [];
  test.mock.method(process, 'kill', (_pid: number, signal: unknown) => {
    sentSignals.push(signal);
    return true;
  });
  return sentSignals;
}

function startDrain() {
  let calls = 0;
  let finish = (): void => {};
  const drain = (): Promise<void> => {
    calls++;
    return new Promise((resolve) => (finish = resolve));
  };
  return { stop: onDrainSignal(undefined, drain), finish: () => finish(), calls: () => calls };
}

it('sends the signal again when the workers of the process have all finished their work', async (test) => {
  const sentSignals = watchKill(test);
  const [idle, busy] = [startDrain(), startDrain()];
  process.emit('SIGTERM', 'SIGTERM');
  assert.deepEqual([idle.calls(), busy.calls()], [1, 1]);
  idle.finish();
  await turn();
  assert.deepEqual(sentSignals, []);
  busy.finish();
  await turn();
  assert.deepEqual(sentSignals, ['SIGTERM']);
});

it('leaves the end of the process to an app with its own listener, and drains only once', async (test) => {
  const sentSignals = watchKill(test);
  const ownListener = (): void => {};
  process.on('SIGINT', ownListener);
  test.after(() => process.removeListener('SIGINT', ownListener));
  const worker = startDrain();
  process.emit('SIGINT', 'SIGINT');
  process.emit('SIGINT', 'SIGINT');
  worker.finish();
  await turn();
  assert.deepEqual([worker.calls(), sentSignals], [1, []]);
});

it('does nothing after it stops listening', (test) => {
  watchKill(test);
  const worker = startDrain();
  worker.stop();
  process.emit('SIGTERM', 'SIGTERM');
  assert.equal(worker.calls(), 0);
});
