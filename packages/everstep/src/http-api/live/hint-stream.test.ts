import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import type { LiveHint } from '../../ports/live-hints.js';
import { HintStream } from './hint-stream.js';

interface Played {
  readonly stream: HintStream;
  readonly send: (hint: LiveHint) => void;
  readonly close: () => void;
  isAdmitted: boolean;
  isSubscribed: boolean;
}

function play(): Played {
  const closing = new AbortController();
  let listener: (hint: LiveHint) => void = () => {};
  const played = { isAdmitted: true, isSubscribed: true };
  const stream = new HintStream({
    subscribe: (onHint) => {
      listener = onHint;
      return () => {
        played.isSubscribed = false;
      };
    },
    isStillAdmitted: async () => played.isAdmitted,
    signal: closing.signal,
  });
  return Object.assign(played, { stream, send: (hint: LiveHint) => listener(hint), close: () => closing.abort() });
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const of = (runId: string): LiveHint => ({ topics: ['runs'], runIds: [runId] });

/** Uses a clock that the test controls. */
function timed(name: string, work: (pass: (ms: number) => Promise<void>) => Promise<void>): void {
  test(name, async () => {
    mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    try {
      await work(async (ms) => {
        mock.timers.tick(ms);
        for (let n = 0; n < 5; n++) await turn();
      });
    } finally {
      mock.timers.reset();
    }
  });
}

timed('combines hints in quick succession into one event and sends the first immediately', async (pass) => {
  const { stream, send } = play();
  let text = '';
  stream.on('data', (chunk) => {
    text += chunk;
  });
  await pass(0);
  assert.equal(text, 'retry: 1000\n\n');
  text = '';
  for (const id of ['a', 'b', 'a', 'c']) send(of(id));
  send({ topics: ['dlq'], runIds: [] });
  await pass(0);
  assert.equal(text, 'event: change\ndata: {"topics":["runs"],"runIds":["a"]}\n\n');
  text = '';
  await pass(LIMITS.liveHintEveryMs - 1);
  assert.equal(text, '');
  await pass(1);
  assert.equal(text, 'event: change\ndata: {"topics":["runs","dlq"],"runIds":["b","a","c"]}\n\n');
  stream.destroy();
});

timed('disconnects a client that reads nothing, and buffers little for it', async (pass) => {
  const { stream, send, ...played } = play();
  void played;
  stream.read(0);
  for (let n = 0; n < 5_000; n++) {
    send(of(`run ${n} ${'x'.repeat(200)}`));
    if (n % 100 === 0) await pass(LIMITS.liveHintEveryMs);
  }
  assert.ok(stream.readableLength < 40_000, `${stream.readableLength} bytes`);
  for (let n = 0; n < 4; n++) await pass(LIMITS.livePingMs);
  assert.equal(stream.destroyed, true);
});

timed('a temporarily slow client gets the missed hints in one event', async (pass) => {
  const { stream, send } = play();
  const taken: string[] = [];
  stream.read(0);
  for (let n = 0; n < 100; n++) {
    send(of(`run-${n}-${'x'.repeat(100)}`));
    await pass(LIMITS.liveHintEveryMs);
  }
  assert.equal(stream.destroyed, false);
  stream.on('data', (chunk) => taken.push(String(chunk)));
  await pass(LIMITS.liveHintEveryMs);
  await pass(LIMITS.liveHintEveryMs);
  const last = taken.at(-1) ?? '';
  const { runIds, moreRuns } = JSON.parse(last.slice(last.indexOf('{')));
  assert.deepEqual([runIds.length, moreRuns], [50, true]);
  stream.destroy();
});

timed('a stream sends pings and ends when its client is no longer admitted', async (pass) => {
  const played = play();
  const { stream } = played;
  let text = '';
  let hasEnded = false;
  stream.on('data', (chunk) => {
    text += chunk;
  });
  stream.on('end', () => {
    hasEnded = true;
  });
  await pass(0);
  await pass(LIMITS.livePingMs);
  assert.match(text, /: ping\n\n$/);
  assert.deepEqual([hasEnded, played.isSubscribed], [false, true]);
  played.isAdmitted = false;
  await pass(LIMITS.livePingMs);
  assert.deepEqual([hasEnded, played.isSubscribed], [true, false]);
});

timed('unsubscribes when the client disconnects or the server stops', async (pass) => {
  const [gone, stopped] = [play(), play()];
  gone.stream.destroy();
  await pass(0);
  assert.equal(gone.isSubscribed, false);
  gone.send(of('late'));
  stopped.stream.resume();
  stopped.close();
  await pass(0);
  assert.deepEqual([stopped.isSubscribed, stopped.stream.readableEnded], [false, true]);
  stopped.send(of('late'));
});
