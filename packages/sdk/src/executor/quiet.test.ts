import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';

type Quiet = typeof import('./quiet.js');

const HOPS = 5_000;

async function hop(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await null;
}

/** Loads the module without the functions that are specific to Node. */
async function loadedElsewhere(test: TestContext, means: 'setImmediate' | 'MessageChannel'): Promise<Quiet> {
  const { setImmediate, MessageChannel } = globalThis;
  const ports: MessagePort[] = [];
  class WatchedChannel extends MessageChannel {
    constructor() {
      super();
      ports.push(this.port1);
    }
  }
  Object.assign(globalThis, { Bun: {}, MessageChannel: WatchedChannel });
  if (means === 'MessageChannel') Object.assign(globalThis, { setImmediate: undefined });
  test.after(() => {
    Object.assign(globalThis, { setImmediate, MessageChannel });
    Reflect.deleteProperty(globalThis, 'Bun');
    // An open port would keep the test process alive.
    for (const port of ports) port.close();
  });
  return import(`./quiet.js?${means}`);
}

const platforms: readonly (readonly [string, (test: TestContext) => Promise<Quiet>])[] = [
  ['Node', () => import('./quiet.js')],
  ['a platform with setImmediate', (test) => loadedElsewhere(test, 'setImmediate')],
  ['a platform with MessageChannel only', (test) => loadedElsewhere(test, 'MessageChannel')],
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
