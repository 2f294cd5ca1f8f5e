import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FRESH_MS, KeySet, REFETCH_MS, STALE_MS } from './key-set.js';
import { newPrivateKey, publicPart } from './signed.fixture.js';

const [a, b, c] = ['a', 'b', 'c'].map((kid) => publicPart(newPrivateKey(kid)));

/** A key set with responses and time that a test controls. */
class Bench {
  now = 0;
  fetches = 0;
  respond: () => Response | Promise<Response> = () => Response.json({ keys: [a, b] });
  readonly set: KeySet;

  constructor({ sharesFetches = true } = {}) {
    this.set = new KeySet({
      url: 'https://service.test/v2/jwks/qi_1',
      fetch: async (_url, init) => {
        this.fetches++;
        assert.ok(init?.signal, 'a fetch has a timeout');
        return this.respond();
      },
      elapsedMs: () => this.now,
      sharesFetches,
    });
  }
}

const neverEnds = () => new Promise<Response>(() => {});

test('concurrent lookups fetch the keys once', async () => {
  const bench = new Bench();
  const found = await Promise.all([bench.set.find('a'), bench.set.find('b'), bench.set.find('a')]);
  assert.deepEqual(found, [a, b, a]);
  bench.now = FRESH_MS - 1;
  assert.equal(bench.set.find('a') instanceof Promise, false, 'known keys are returned synchronously');
  assert.equal(bench.fetches, 1);
});

test('a fetch that never ends, because its request was canceled, delays no later lookup', async () => {
  const bench = new Bench();
  bench.respond = neverEnds;
  void bench.set.find('a');
  bench.respond = () => Response.json({ keys: [a] });
  bench.now = 6_000;
  assert.deepEqual(await bench.set.find('a'), a);
  assert.equal(await bench.set.find('c'), null);
  assert.equal(bench.fetches, 2);
});

test('no request waits for the fetch of another one on a runtime that does not permit it', async () => {
  const bench = new Bench({ sharesFetches: false });
  bench.respond = neverEnds;
  void bench.set.find('a');
  bench.respond = () => Response.json({ keys: [a] });
  const found = await Promise.all([bench.set.find('a'), bench.set.find('a')]);
  assert.deepEqual(found, [a, a]);
  assert.equal(await bench.set.find('c'), null);
  assert.equal(bench.fetches, 3);
});

test('an unknown key is looked up with a rate limit', async () => {
  const bench = new Bench();
  await bench.set.find('a');
  bench.now = REFETCH_MS - 1;
  assert.equal(await bench.set.find('c'), null);
  assert.equal(bench.fetches, 1);
  bench.respond = () => Response.json({ keys: [b, c] });
  bench.now = REFETCH_MS;
  assert.deepEqual(await bench.set.find('c'), c);
  for (let n = 0; n < 100; n++) assert.equal(await bench.set.find(`forged ${n}`), null);
  assert.equal(await bench.set.find('a'), null, 'a removed key is not accepted');
  assert.equal(bench.fetches, 2);
});

test('stale keys are fetched again, and used for up to an hour if that fails', async () => {
  const bench = new Bench();
  await bench.set.find('a');
  bench.respond = () => new Response('down', { status: 503 });
  bench.now = FRESH_MS;
  assert.deepEqual(await bench.set.find('a'), a);
  assert.equal(bench.fetches, 2);
  assert.deepEqual(await bench.set.find('a'), a, 'without another fetch');
  assert.equal(bench.fetches, 2);
  bench.now = STALE_MS;
  assert.deepEqual(await bench.set.find('a'), {
    problem: 'the public keys cannot be read from https://service.test/v2/jwks/qi_1: the response has the status 503',
  });
});

test('an invalid, oversized or unreachable key set is reported', async () => {
  const answers: readonly (readonly [() => Response | Promise<Response>, RegExp])[] = [
    [() => new Response('<html>'), /JSON/],
    [() => Response.json([]), /not a JSON Web Key Set/],
    [() => new Response(`{"keys":[],"x":"${'y'.repeat(70_000)}"}`), /larger than 65536 bytes/],
    [() => new Response(null, { status: 302, headers: { location: 'https://evil.test/' } }), /status 302/],
    [() => Promise.reject(new Error('connect ECONNREFUSED')), /ECONNREFUSED/],
  ];
  for (const [respond, problem] of answers) {
    const bench = new Bench();
    bench.respond = respond;
    const found = await bench.set.find('a');
    assert.match(found !== null && 'problem' in found ? found.problem : 'found', problem);
  }
});

test('only Ed25519 keys of a key set are used, and at most sixteen', async () => {
  const bench = new Bench();
  const rsa = { kty: 'RSA', kid: 'rsa', n: 'AA', e: 'AQAB' };
  const many = Array.from({ length: 20 }, (_, n) => ({ ...a, kid: `many ${n}` }));
  bench.respond = () => Response.json({ keys: [rsa, null, 'text', ...many] });
  assert.equal(await bench.set.find('rsa'), null);
  assert.ok(await bench.set.find('many 15'));
  assert.equal(await bench.set.find('many 16'), null);
});
