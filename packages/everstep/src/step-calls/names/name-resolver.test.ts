import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownersOf } from '../../fairness/owners.fixture.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { LookupResult } from './dns-servers.js';
import { type NameLimits, type NameResolution, NameResolver } from './name-resolver.js';

const LIMITS: NameLimits = {
  maxLookups: 64,
  lookupTimeoutMs: 5_000,
  minFreshMs: 5_000,
  maxFreshMs: 300_000,
  negativeFreshMs: 4_000,
  failureFreshMs: 2_000,
  maxStaleMs: 60_000,
  maxNames: 3,
};

const found = (address: string, ttlMs: number | null = 60_000): LookupResult => ({
  kind: 'found',
  addresses: [{ address, family: 4 }],
  ttlMs,
});
const FAILED: LookupResult = { kind: 'failed', code: 'ESERVFAIL' };

class Harness {
  now = 0;
  isWaitingForDescriptor = false;
  readonly lookups: string[] = [];
  readonly resolver: NameResolver;
  private readonly waiting = new Map<string, ((lookup: LookupResult | Promise<never>) => void)[]>();
  private timers: { at: number; fire: () => void }[] = [];

  constructor(owners: InstanceOwners = ONE_OWNER) {
    this.resolver = new NameResolver({
      lookUp: (name) => {
        this.lookups.push(name);
        return new Promise((resolve) => this.waiting.set(name, [...(this.waiting.get(name) ?? []), resolve]));
      },
      hosts: { find: (name) => (name === 'listed' ? ['10.0.0.9'] : null) },
      owners,
      limits: LIMITS,
      elapsedMs: () => this.now,
      setTimer: (delayMs, fire) => {
        const timer = { at: this.now + delayMs, fire };
        this.timers.push(timer);
        return () => {
          this.timers = this.timers.filter((other) => other !== timer);
        };
      },
      isShortOfDescriptors: () => this.isWaitingForDescriptor,
    });
  }

  async respond(name: string, lookup: LookupResult | Promise<never>): Promise<void> {
    this.waiting.get(name)?.shift()?.(lookup);
    await new Promise((resolve) => setImmediate(resolve));
  }

  async pass(ms: number): Promise<void> {
    this.now += ms;
    for (const { at, fire } of this.timers) if (at <= this.now) fire();
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Returns an address or an error code, or null while the lookup is pending. */
  async find(name: string, instanceId = 'a1'): Promise<string | null> {
    const resolved = await Promise.race([
      this.resolver.find(name, instanceId),
      new Promise<null>((resolve) => setImmediate(() => resolve(null))),
    ]);
    return resolved && textOf(resolved);
  }
}

const textOf = (resolved: NameResolution): string =>
  resolved.kind === 'found' ? (resolved.addresses[0]?.address ?? '') : resolved.error.code;

test('concurrent requests for a name share one lookup, and a fresh response is not looked up again', async () => {
  const harness = new Harness();
  const waiting = [harness.resolver.find('shop', 'a1'), harness.resolver.find('shop', 'a1'), harness.resolver.find('shop', 'b1')];
  await harness.respond('shop', found('1.1.1.1', 30_000));
  assert.deepEqual((await Promise.all(waiting)).map(textOf), ['1.1.1.1', '1.1.1.1', '1.1.1.1']);
  await harness.pass(29_999);
  assert.equal(await harness.find('shop'), '1.1.1.1');
  assert.equal(harness.lookups.length, 1);
  await harness.pass(1);
  assert.equal(await harness.find('shop'), null);
  assert.equal(harness.lookups.length, 2);
});

for (const [what, ttlMs, freshMs] of [
  ['of zero', 0, 5_000],
  ['that is unknown', null, 5_000],
  ['of a day', 86_400_000, 300_000],
] as const) {
  test(`a TTL ${what} is limited to the allowed range`, async () => {
    const harness = new Harness();
    void harness.resolver.find('shop', 'a1');
    await harness.respond('shop', found('1.1.1.1', ttlMs));
    await harness.pass(freshMs - 1);
    assert.equal(await harness.find('shop'), '1.1.1.1');
    await harness.pass(1);
    assert.equal(await harness.find('shop'), null);
  });
}

test('a name that does not exist is cached for a short time', async () => {
  const harness = new Harness();
  void harness.resolver.find('gone', 'a1');
  await harness.respond('gone', { kind: 'no-such-name', hasRecords: false });
  await harness.pass(3_999);
  assert.equal(await harness.find('gone'), 'ENOTFOUND');
  await harness.pass(1);
  assert.equal(await harness.find('gone'), null);
  await harness.respond('gone', { kind: 'no-such-name', hasRecords: true });
  assert.equal(await harness.find('gone'), 'ENODATA');
});

test('expired addresses are used for a limited time if the lookup fails', async () => {
  const harness = new Harness();
  void harness.resolver.find('shop', 'a1');
  await harness.respond('shop', found('1.1.1.1', 5_000));
  await harness.pass(5_000);
  void harness.resolver.find('shop', 'a1');
  await harness.respond('shop', FAILED);
  assert.equal(await harness.find('shop'), '1.1.1.1');
  await harness.pass(60_000);
  void harness.resolver.find('shop', 'a1');
  await harness.respond('shop', FAILED);
  assert.equal(await harness.find('shop'), 'EAI_AGAIN');
  await harness.pass(2_000);
  void harness.resolver.find('shop', 'a1');
  await harness.respond('shop', { kind: 'no-such-name', hasRecords: false });
  assert.equal(await harness.find('shop'), 'ENOTFOUND');
});

test('a slow lookup times out, and its late response is still cached', async () => {
  const harness = new Harness();
  const waiting = harness.resolver.find('slow', 'a1');
  await harness.pass(5_000);
  assert.equal(textOf(await waiting), 'ETIMEOUT');
  assert.equal(await harness.find('slow'), 'ETIMEOUT', 'a failed lookup is cached for a short time');
  await harness.respond('slow', found('1.1.1.1'));
  assert.equal(await harness.find('slow'), '1.1.1.1');
});

test('a lookup that rejects fails, and ends like any other', async () => {
  const harness = new Harness(ownersOf('hog1', 'quiet1'));
  const [rejected] = Array.from({ length: 200 }, (_, index) => harness.resolver.find(`${index}.hog`, 'hog1'));
  await harness.respond('0.hog', Promise.reject(new Error('unexpected')));
  assert.ok(rejected);
  assert.equal(textOf(await rejected), 'EAI_AGAIN');
  assert.deepEqual([harness.lookups.length, harness.lookups.at(-1)], [33, '32.hog'], 'the next lookup gets its share');
});

test('a shortage of file descriptors is not cached as a failed lookup of the name', async () => {
  const harness = new Harness();
  harness.isWaitingForDescriptor = true;
  const waiting = harness.resolver.find('shop', 'a1');
  await harness.respond('shop', { kind: 'failed', code: 'ECONNREFUSED' });
  const resolved = await waiting;
  assert.ok(resolved.kind === 'failed' && resolved.error.isShortage);
  harness.isWaitingForDescriptor = false;
  assert.equal(await harness.find('shop'), null, 'the name is looked up again immediately');
  await harness.respond('shop', found('1.1.1.1'));
  assert.equal(await harness.find('shop'), '1.1.1.1');
});

test('the hosts file takes precedence, and localhost is this machine', async () => {
  const harness = new Harness();
  assert.deepEqual(
    [await harness.find('listed'), await harness.find('localhost'), await harness.find('app.localhost')],
    ['10.0.0.9', '127.0.0.1', '127.0.0.1'],
  );
  assert.deepEqual(harness.lookups, []);
});

test('above the limit the least recently used names are removed from the cache', async () => {
  const harness = new Harness();
  for (const name of ['a', 'b', 'c']) {
    void harness.resolver.find(name, 'a1');
    await harness.respond(name, found('1.1.1.1'));
  }
  await harness.find('a');
  void harness.resolver.find('d', 'a1');
  await harness.respond('d', found('1.1.1.1'));
  assert.equal(harness.resolver.size, 3);
  assert.deepEqual([await harness.find('a'), await harness.find('b')], ['1.1.1.1', null]);
});

for (const hogs of [['hog1'], ['hog1', 'pig1', 'rat1']]) {
  test(`unresponsive name servers of ${hogs.length} accounts do not delay other accounts`, async () => {
    const harness = new Harness(ownersOf(...hogs, 'quiet1'));
    for (const hog of hogs) for (let i = 0; i < 200; i++) void harness.resolver.find(`${i}.${hog}`, hog);
    assert.ok(harness.lookups.length <= LIMITS.maxLookups - 5, `${harness.lookups.length} lookups are in progress`);
    void harness.resolver.find('quiet', 'quiet1');
    await harness.respond('quiet', found('1.1.1.1'));
    assert.equal(await harness.find('quiet', 'quiet1'), '1.1.1.1');
  });
}

test('an account at its share of lookups gets the next one when one of its own ends', async () => {
  const harness = new Harness(ownersOf('hog1', 'quiet1'));
  for (let i = 0; i < 200; i++) void harness.resolver.find(`${i}.hog`, 'hog1');
  assert.equal(harness.lookups.length, 32);
  await harness.respond('0.hog', found('1.1.1.1'));
  assert.deepEqual([harness.lookups.length, harness.lookups.at(-1)], [33, '32.hog']);
});

test('a name that waits for the share of one account is looked up immediately for another', async () => {
  const harness = new Harness(ownersOf('hog1', 'quiet1'));
  for (let i = 0; i < 200; i++) void harness.resolver.find(`${i}.hog`, 'hog1');
  const waiting = harness.resolver.find('100.hog', 'quiet1');
  assert.equal(harness.lookups.at(-1), '100.hog');
  await harness.respond('100.hog', found('1.1.1.1'));
  assert.equal(textOf(await waiting), '1.1.1.1');
});
