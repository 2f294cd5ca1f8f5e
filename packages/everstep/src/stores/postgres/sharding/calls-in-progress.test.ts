import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallEndedError, CallsInProgress } from './calls-in-progress.js';

/** A client whose call lasts until its connection is closed. */
function waitingClient() {
  let closed: (error: Error) => void = () => {};
  const call = new Promise<never>((_, reject) => {
    closed = reject;
  });
  const stream = { destroy: () => closed(new Error('Connection terminated')) };
  return { client: { connection: { stream } }, call };
}

test('a call that is ended rejects with the server, and other calls continue', async () => {
  const calls = new CallsInProgress();
  const [waiting, other] = [waitingClient(), waitingClient()];
  const ended = calls.track(
    waiting.client,
    () => ['qi_1'],
    () => waiting.call,
  );
  let isOtherEnded = false;
  calls
    .track(
      other.client,
      () => ['qi_2'],
      () => other.call,
    )
    .catch(() => {
      isOtherEnded = true;
    });
  calls.end('db-1:5432', (instances) => instances.includes('qi_1'));
  await assert.rejects(ended, (error) => error instanceof CallEndedError && error.failure.server === 'db-1:5432');
  assert.equal(isOtherEnded, false);
});

test('a call that fails for another reason rejects with its own error', async () => {
  const calls = new CallsInProgress();
  const error = new Error('syntax error');
  await assert.rejects(
    calls.track(
      waitingClient().client,
      () => [],
      () => Promise.reject(error),
    ),
    error,
  );
});

test('a call that is over is not ended', async () => {
  const calls = new CallsInProgress();
  const { client } = waitingClient();
  assert.equal(
    await calls.track(
      client,
      () => [],
      async () => 1,
    ),
    1,
  );
  calls.end('db-1:5432', () => assert.fail('a call is in progress'));
});
