import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownersOf } from '../../fairness/owners.fixture.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/instance-owners.js';
import type { Lookup } from './dns-servers.js';
import { type NameLimits, NameResolver, type Resolved } from './name-resolver.js';

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

const found = (address: string, ttlMs: number | null = 60_000): Lookup => ({
  kind: 'found',
  addresses: [{ address, family: 4 }],
  ttlMs,
});
const FAILED: Lookup = { kind: 'failed', code: 'ESERVFAIL' };

class World {
  now = 0;
  isShort = false;
  readonly lookups: string[] = [];
  readonly resolver: NameResolver;
  private readonly waiting = new Map<string, ((lookup: Lookup) => void)[]>();
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
      isShortOfDescriptors: () => this.isShort,
    });
  }

  async answer(name: string, lookup: Lookup): Promise<void> {
    this.waiting.get(name)?.shift()?.(lookup);
    await new Promise((resolve) => setImmediate(resolve));
  }

  async pass(ms: number): Promise<void> {
    this.now += ms;
    for (const { at, fire } of this.timers) if (at <= this.now) fire();
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** An address, the code of a failure, or null while it is looked up. */
  async find(name: string, instanceId = 'a1'): Promise<string | null> {
    const resolved = await Promise.race([
      this.resolver.find(name, instanceId),
      new Promise<null>((resolve) => setImmediate(() => resolve(null))),
    ]);
    return resolved && textOf(resolved);
  }
}

const textOf = (resolved: Resolved): string =>
  resolved.kind === 'found' ? (resolved.addresses[0]?.address ?? '') : resolved.error.code;

test('a name is looked up once, however many wait for it, and not again while its answer is fresh', async () => {
  const world = new World();
  const waiting = [world.resolver.find('shop', 'a1'), world.resolver.find('shop', 'a1'), world.resolver.find('shop', 'b1')];
  await world.answer('shop', found('1.1.1.1', 30_000));
  assert.deepEqual((await Promise.all(waiting)).map(textOf), ['1.1.1.1', '1.1.1.1', '1.1.1.1']);
  await world.pass(29_999);
  assert.equal(await world.find('shop'), '1.1.1.1');
  assert.equal(world.lookups.length, 1);
  await world.pass(1);
  assert.equal(await world.find('shop'), null);
  assert.equal(world.lookups.length, 2);
});

for (const [what, ttlMs, freshMs] of [
  ['of no time', 0, 5_000],
  ['that is not known', null, 5_000],
  ['of a day', 86_400_000, 300_000],
] as const) {
  test(`a TTL ${what} counts within bounds`, async () => {
    const world = new World();
    void world.resolver.find('shop', 'a1');
    await world.answer('shop', found('1.1.1.1', ttlMs));
    await world.pass(freshMs - 1);
    assert.equal(await world.find('shop'), '1.1.1.1');
    await world.pass(1);
    assert.equal(await world.find('shop'), null);
  });
}

test('that a name does not exist is known for a short time', async () => {
  const world = new World();
  void world.resolver.find('gone', 'a1');
  await world.answer('gone', { kind: 'no-such-name', hasRecords: false });
  await world.pass(3_999);
  assert.equal(await world.find('gone'), 'ENOTFOUND');
  await world.pass(1);
  assert.equal(await world.find('gone'), null);
  await world.answer('gone', { kind: 'no-such-name', hasRecords: true });
  assert.equal(await world.find('gone'), 'ENODATA');
});

test('while a name cannot be looked up its old addresses are used, for a bounded time', async () => {
  const world = new World();
  void world.resolver.find('shop', 'a1');
  await world.answer('shop', found('1.1.1.1', 5_000));
  await world.pass(5_000);
  void world.resolver.find('shop', 'a1');
  await world.answer('shop', FAILED);
  assert.equal(await world.find('shop'), '1.1.1.1');
  await world.pass(60_000);
  void world.resolver.find('shop', 'a1');
  await world.answer('shop', FAILED);
  assert.equal(await world.find('shop'), 'EAI_AGAIN');
  await world.pass(2_000);
  void world.resolver.find('shop', 'a1');
  await world.answer('shop', { kind: 'no-such-name', hasRecords: false });
  assert.equal(await world.find('shop'), 'ENOTFOUND');
});

test('a lookup that takes too long has failed; a late answer is used all the same', async () => {
  const world = new World();
  const waiting = world.resolver.find('slow', 'a1');
  await world.pass(5_000);
  assert.equal(textOf(await waiting), 'ETIMEOUT');
  assert.equal(await world.find('slow'), 'ETIMEOUT', 'for a short time it is not asked for again');
  await world.answer('slow', found('1.1.1.1'));
  assert.equal(await world.find('slow'), '1.1.1.1');
});

test('a process without a free file descriptor says nothing of a name', async () => {
  const world = new World();
  world.isShort = true;
  const waiting = world.resolver.find('shop', 'a1');
  await world.answer('shop', { kind: 'failed', code: 'ECONNREFUSED' });
  const resolved = await waiting;
  assert.ok(resolved.kind === 'failed' && resolved.error.isShortage);
  world.isShort = false;
  assert.equal(await world.find('shop'), null, 'it is asked for again at once');
  await world.answer('shop', found('1.1.1.1'));
  assert.equal(await world.find('shop'), '1.1.1.1');
});

test('the hosts file comes first, and localhost is this machine', async () => {
  const world = new World();
  assert.deepEqual(
    [await world.find('listed'), await world.find('localhost'), await world.find('app.localhost')],
    ['10.0.0.9', '127.0.0.1', '127.0.0.1'],
  );
  assert.deepEqual(world.lookups, []);
});

test('of more names than are kept those are forgotten that were not used for longest', async () => {
  const world = new World();
  for (const name of ['a', 'b', 'c']) {
    void world.resolver.find(name, 'a1');
    await world.answer(name, found('1.1.1.1'));
  }
  await world.find('a');
  void world.resolver.find('d', 'a1');
  await world.answer('d', found('1.1.1.1'));
  assert.equal(world.resolver.size, 3);
  assert.deepEqual([await world.find('a'), await world.find('b')], ['1.1.1.1', null]);
});

for (const hogs of [['hog1'], ['hog1', 'pig1', 'rat1']]) {
  test(`names of ${hogs.length} accounts whose name servers never answer keep no other account waiting`, async () => {
    const world = new World(ownersOf(...hogs, 'quiet1'));
    for (const hog of hogs) for (let i = 0; i < 200; i++) void world.resolver.find(`${i}.${hog}`, hog);
    assert.ok(world.lookups.length <= LIMITS.maxLookups - 5, `${world.lookups.length} are under way`);
    void world.resolver.find('quiet', 'quiet1');
    await world.answer('quiet', found('1.1.1.1'));
    assert.equal(await world.find('quiet', 'quiet1'), '1.1.1.1');
  });
}

test('an account that has its share of lookups gets the next one when one of its own ends', async () => {
  const world = new World(ownersOf('hog1', 'quiet1'));
  for (let i = 0; i < 200; i++) void world.resolver.find(`${i}.hog`, 'hog1');
  assert.equal(world.lookups.length, 32);
  await world.answer('0.hog', found('1.1.1.1'));
  assert.deepEqual([world.lookups.length, world.lookups.at(-1)], [33, '32.hog']);
});

test('a name that waits for the share of one account is looked up at once for another', async () => {
  const world = new World(ownersOf('hog1', 'quiet1'));
  for (let i = 0; i < 200; i++) void world.resolver.find(`${i}.hog`, 'hog1');
  const waiting = world.resolver.find('100.hog', 'quiet1');
  assert.equal(world.lookups.at(-1), '100.hog');
  await world.answer('100.hog', found('1.1.1.1'));
  assert.equal(textOf(await waiting), '1.1.1.1');
});
