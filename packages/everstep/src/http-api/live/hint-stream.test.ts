import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import type { LiveHint } from '../../ports/live-hints.js';
import { HintStream } from './hint-stream.js';

interface Played {
  readonly stream: HintStream;
  readonly tell: (hint: LiveHint) => void;
  readonly close: () => void;
  isLetIn: boolean;
  isLookingOn: boolean;
}

function play(): Played {
  const closing = new AbortController();
  let told: (hint: LiveHint) => void = () => {};
  const played = { isLetIn: true, isLookingOn: true };
  const stream = new HintStream({
    subscribe: (listener) => {
      told = listener;
      return () => {
        played.isLookingOn = false;
      };
    },
    isStillAdmitted: async () => played.isLetIn,
    signal: closing.signal,
  });
  return Object.assign(played, { stream, tell: (hint: LiveHint) => told(hint), close: () => closing.abort() });
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const of = (runId: string): LiveHint => ({ topics: ['runs'], runIds: [runId] });

/** With time that the test moves. */
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

timed('hints that come close together are one event, and the first comes at once', async (pass) => {
  const { stream, tell } = play();
  let text = '';
  stream.on('data', (chunk) => {
    text += chunk;
  });
  await pass(0);
  assert.equal(text, 'retry: 1000\n\n');
  text = '';
  for (const id of ['a', 'b', 'a', 'c']) tell(of(id));
  tell({ topics: ['dlq'], runIds: [] });
  await pass(0);
  assert.equal(text, 'event: change\ndata: {"topics":["runs"],"runIds":["a"]}\n\n');
  text = '';
  await pass(LIMITS.liveHintEveryMs - 1);
  assert.equal(text, '');
  await pass(1);
  assert.equal(text, 'event: change\ndata: {"topics":["runs","dlq"],"runIds":["b","a","c"]}\n\n');
  stream.destroy();
});

timed('a client that takes nothing is dropped, and what gathers for it meanwhile stays small', async (pass) => {
  const { stream, tell, ...played } = play();
  void played;
  stream.read(0);
  for (let n = 0; n < 5_000; n++) {
    tell(of(`run ${n} ${'x'.repeat(200)}`));
    if (n % 100 === 0) await pass(LIMITS.liveHintEveryMs);
  }
  assert.ok(stream.readableLength < 40_000, `${stream.readableLength} bytes`);
  for (let n = 0; n < 4; n++) await pass(LIMITS.livePingMs);
  assert.equal(stream.destroyed, true);
});

timed('a client that is slow for a while gets what it missed in one event', async (pass) => {
  const { stream, tell } = play();
  const taken: string[] = [];
  stream.read(0);
  for (let n = 0; n < 100; n++) {
    tell(of(`run-${n}-${'x'.repeat(100)}`));
    await pass(LIMITS.liveHintEveryMs);
  }
  assert.equal(stream.destroyed, false);
  stream.on('data', (chunk) => taken.push(String(chunk)));
  await pass(LIMITS.liveHintEveryMs);
  await pass(LIMITS.liveHintEveryMs);
  const last = taken.at(-1) ?? '';
  assert.equal(JSON.parse(last.slice(last.indexOf('{'))).runIds.length, 50);
  stream.destroy();
});

timed('a stream says that it is there, and ends when its client would not be let in any more', async (pass) => {
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
  assert.deepEqual([hasEnded, played.isLookingOn], [false, true]);
  played.isLetIn = false;
  await pass(LIMITS.livePingMs);
  assert.deepEqual([hasEnded, played.isLookingOn], [true, false]);
});

timed('nobody is looked on for when the stream is gone, or the service stops', async (pass) => {
  const [gone, stopped] = [play(), play()];
  gone.stream.destroy();
  await pass(0);
  assert.equal(gone.isLookingOn, false);
  gone.tell(of('late'));
  stopped.stream.resume();
  stopped.close();
  await pass(0);
  assert.deepEqual([stopped.isLookingOn, stopped.stream.readableEnded], [false, true]);
  stopped.tell(of('late'));
});
