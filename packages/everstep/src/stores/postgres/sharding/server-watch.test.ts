import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { ServerWatch } from './server-watch.js';

/** Longer than a test takes. */
const NEVER_MS = 600_000;
const [SILENT, FAILED] = ['silent', 'failed'];

/** Watches servers whose answers the test chooses. Resolves with the first event. */
async function firstEvent(
  t: TestContext,
  answerOf: (server: string) => Promise<unknown>,
  { servers = ['a:1'], silenceMs = NEVER_MS } = {},
): Promise<readonly unknown[]> {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const events = new EventTarget();
  let event: readonly unknown[] = [];
  const report = async (...details: readonly unknown[]) => {
    if (event.length === 0) event = details;
    events.dispatchEvent(new Event('event'));
  };
  const watched = {
    list: async () => servers,
    async askOn(server: string, work: (ask: () => Promise<unknown>) => Promise<void>) {
      await work(() => answerOf(server));
      return true;
    },
    onSilent: (server: string) => report(SILENT, server),
    onFailed: (error: unknown) => report(FAILED, error),
    whenAvailable: () => new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve())),
  };
  const reported = once(events, 'event');
  void new ServerWatch(watched, stop.signal, { intervalMs: 1, silenceMs }).run();
  await reported;
  return event;
}

test('a server that does not answer is reported, and the others are not', async (t) => {
  const answerOf = (server: string) => (server === 'b:1' ? new Promise(() => {}) : Promise.resolve());
  assert.deepEqual(await firstEvent(t, answerOf, { servers: ['a:1', 'b:1', 'c:1'], silenceMs: 20 }), [SILENT, 'b:1']);
});

test('a server that stops answering later is reported', async (t) => {
  let answers = 0;
  const answerOf = () => (++answers > 3 ? new Promise(() => {}) : Promise.resolve());
  assert.deepEqual(await firstEvent(t, answerOf, { silenceMs: 20 }), [SILENT, 'a:1']);
  assert.equal(answers, 4);
});

test('a statement that fails is reported with its error', async (t) => {
  const error = new Error('connection refused');
  assert.deepEqual(await firstEvent(t, () => Promise.reject(error)), [FAILED, error]);
});
