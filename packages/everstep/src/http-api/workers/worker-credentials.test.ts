import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Authority, TokenVerdict } from '../../accounts/tokens/authority.js';
import { SimulatedClock } from '../../clock/testing/simulated-clock.js';
import { LIMITS } from '../../config/limits.js';
import { WorkerCredentials } from './worker-credentials.js';

const VALID: TokenVerdict = {
  ok: true,
  caller: { actor: 'token t', instanceId: 'qi_1', region: 'eu-central-1', access: 'read-only', scopes: ['connect'] },
};
const turn = () => new Promise((resolve) => setImmediate(resolve));

class Harness {
  readonly clock = new SimulatedClock(0);
  readonly ended: string[] = [];
  readonly invalid = new Set<string>();
  /** Number of verifications in the store. */
  verified = 0;
  isStoreDown = false;
  changed: (instanceId: string | null) => void = () => {};
  private readonly credentials: WorkerCredentials;

  constructor() {
    const authority: Pick<Authority, 'recall' | 'verify' | 'onTokensChanged'> = {
      recall: () => undefined,
      verify: async (token) => {
        this.verified++;
        if (this.isStoreDown) throw new Error('the store is down');
        return this.invalid.has(token) ? { ok: false, message: 'not valid' } : VALID;
      },
      onTokensChanged: (listener) => {
        this.changed = listener;
      },
    };
    this.credentials = new WorkerCredentials({ authority, clock: this.clock });
  }

  watch(name: string, token: string, instanceId = 'qi_1'): () => void {
    return this.credentials.watch({ token, instanceId, region: 'eu-central-1', end: () => this.ended.push(name) });
  }
}

test('a change ends the connections of the tokens that are no longer valid, and of no others', async () => {
  const harness = new Harness();
  harness.watch('a1', 'a');
  harness.watch('a2', 'a');
  harness.watch('b', 'b');
  harness.watch('c', 'c', 'qi_2');
  await turn();
  harness.invalid.add('a').add('c');
  harness.changed('qi_1');
  await turn();
  assert.deepEqual(harness.ended, ['a1', 'a2']);
  harness.changed(null);
  await turn();
  await turn();
  assert.ok(harness.ended.includes('c') && !harness.ended.includes('b'));
});

test('an expired token, and a revocation without a notice, are found at the next check', async () => {
  const harness = new Harness();
  const unwatch = harness.watch('a', 'a');
  await turn();
  harness.clock.advance();
  assert.equal(harness.clock.now(), LIMITS.workerTokenCheckMs);
  await turn();
  assert.deepEqual(harness.ended, []);
  harness.invalid.add('a');
  harness.clock.advance();
  await turn();
  assert.deepEqual(harness.ended, ['a']);
  unwatch();
  assert.equal(harness.clock.advance(), false, 'no timer is left');
});

test('connections survive a store that is down, and one check verifies each token once', async () => {
  const harness = new Harness();
  for (let n = 0; n < 50; n++) harness.watch('a', 'a');
  await turn();
  harness.isStoreDown = true;
  harness.verified = 0;
  harness.clock.advance();
  await turn();
  assert.deepEqual([harness.ended, harness.verified], [[], 1]);
  harness.isStoreDown = false;
  harness.invalid.add('a');
  harness.clock.advance();
  await turn();
  assert.equal(harness.ended.length, 50);
});
