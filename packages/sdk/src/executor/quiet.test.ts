import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';

type Quiet = typeof import('./quiet.js');

const HOPS = 5_000;

async function hop(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await null;
}

/** A MessageChannel as in Cloudflare Workers, which deliver messages in a microtask. */
class MicrotaskChannel {
  readonly port1: { onmessage?: () => void } = {};
  readonly port2 = { postMessage: () => queueMicrotask(() => this.port1.onmessage?.()) };
}

/** Loads the module without the functions that are specific to Node. */
async function loadedElsewhere(test: TestContext, means: 'setImmediate' | 'setTimeout'): Promise<Quiet> {
  const { setImmediate, MessageChannel } = globalThis;
  Object.assign(globalThis, { Bun: {}, MessageChannel: MicrotaskChannel });
  if (means === 'setTimeout') Object.assign(globalThis, { setImmediate: undefined });
  test.after(() => {
    Object.assign(globalThis, { setImmediate, MessageChannel });
    Reflect.deleteProperty(globalThis, 'Bun');
  });
  return import(`./quiet.js?${means}`);
}

const platforms: readonly (readonly [string, (test: TestContext) => Promise<Quiet>])[] = [
  ['Node', () => import('./quiet.js')],
  ['a platform with setImmediate', (test) => loadedElsewhere(test, 'setImmediate')],
  ['a platform with timers only', (test) => loadedElsewhere(test, 'setTimeout')],
];

for (const [name, load] of platforms) {
  describe(`on ${name}`, () => {
    it('code is quiet only after all its microtasks have run', async (test) => {
      const { microtasksDrained } = await load(test);
      for (let round = 0; round < 3; round++) {
        let done = 0;
        const branches = [10, 500, HOPS].map((count) => hop(count).then(() => done++));
        await microtasksDrained();
        assert.equal(done, branches.length);
      }
    });

    it('wakes all callers that wait at the same time', async (test) => {
      const { microtasksDrained, nextTurn } = await load(test);
      await Promise.all([microtasksDrained(), nextTurn(), microtasksDrained(), nextTurn()]);
    });
  });
}
