import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { LIMITS } from '../../../config/limits.js';
import type { MoveOutcome, MoveTarget, VirtualTime } from '../../../ports/virtual-time.js';
import { ApiHarness } from '../../testing/api-harness.js';

const NOW_MS = Date.UTC(2030, 0, 1);

/** Records clock moves and returns the outcome that the test sets. */
class FakeTime implements VirtualTime {
  readonly moves: MoveTarget[] = [];
  outcome: MoveOutcome = { kind: 'moved', now: NOW_MS + 7, fired: 3 };
  now(): number {
    return NOW_MS;
  }
  async move(target: MoveTarget): Promise<MoveOutcome> {
    this.moves.push(target);
    return this.outcome;
  }
}

describe('a virtual clock', () => {
  const time = new FakeTime();
  let harness: ApiHarness;
  before(async () => {
    harness = await ApiHarness.open({ virtualTime: time });
  });
  after(() => harness.close());
  const advance = (body: string) => harness.call('POST', '/v2/clock/advance', { body });

  test('returns its time', async () => {
    const { status, body } = await harness.call<unknown>('GET', '/v2/clock');
    assert.deepEqual([status, body], [200, { now: NOW_MS, virtual: true }]);
  });

  const GOOD: readonly (readonly [body: string, target: MoveTarget])[] = [
    ['{"by":"7d"}', { byMs: 7 * 86_400_000 }],
    ['{"by":"1d12h"}', { byMs: 36 * 3_600_000 }],
    ['{"by":"90"}', { byMs: 90_000 }],
    [`{"to":${NOW_MS + 1}}`, { atMs: NOW_MS + 1 }],
    [`{"by":"${LIMITS.maxClockMoveMs / 86_400_000}d"}`, { byMs: LIMITS.maxClockMoveMs }],
  ];
  for (const [body, target] of GOOD) {
    test(`advances with ${body}`, async () => {
      time.outcome = { kind: 'moved', now: NOW_MS + 7, fired: 3 };
      const { status, body: answered } = await harness.call<unknown>('POST', '/v2/clock/advance', { body });
      assert.deepEqual([status, answered], [200, { now: NOW_MS + 7, fired: 3 }]);
      assert.deepEqual(time.moves.at(-1), target);
    });
  }

  const BAD: readonly (readonly [body: string, message: RegExp])[] = [
    ['', /request body is missing/],
    ['{}', /either "by", a duration such as "10s", or "to"/],
    [`{"by":"7d","to":${NOW_MS + 1}}`, /either "by", a duration such as "10s", or "to"/],
    ['{"by":"0"}', /"by" must be a positive duration/],
    ['{"by":"0d"}', /"by" must be a positive duration/],
    ['{"by":"-7d"}', /"by" must be a duration such as/],
    ['{"by":"soon"}', /"by" must be a duration such as/],
    ['{"by":""}', /"by" must be a duration such as/],
    ['{"by":7}', /body\.by must be a string/],
    ['{"to":"tomorrow"}', /body\.to must be an integer/],
    ['{"to":1.5}', /body\.to must be an integer/],
    [`{"by":"${LIMITS.maxClockMoveMs / 86_400_000 + 1}d"}`, /at most 3660d per request/],
    ['{"to":1e300}', /at most 3660d per request|must be an integer/],
    ['{"by":"7d","and":"more"}', /has an unknown field/],
  ];
  for (const [body, message] of BAD) {
    test(`rejects ${body || 'a missing body'}`, async () => {
      const before = time.moves.length;
      const response = await advance(body);
      assert.equal(response.status, 400);
      assert.match(response.body.error, message);
      assert.equal(time.moves.length, before);
    });
  }

  const STOPPED: readonly (readonly [outcome: MoveOutcome, status: number, message: RegExp])[] = [
    [{ kind: 'in-the-past', now: NOW_MS }, 400, /the clock is at 2030-01-01T00:00:00\.000Z/],
    [{ kind: 'too-many-instants', now: NOW_MS, fired: 9, instants: 5 }, 400, /after 5 due times.*Advance it in smaller steps/],
    [{ kind: 'not-quiet', now: NOW_MS, fired: 1, waitedMs: 120_000 }, 503, /after 2m.*the clock is at 2030-01-01/],
    [{ kind: 'canceled', now: NOW_MS, fired: 1 }, 503, /was canceled/],
  ];
  for (const [outcome, status, message] of STOPPED) {
    test(`describes the outcome ${outcome.kind}`, async () => {
      time.outcome = outcome;
      const received = await advance('{"by":"7d"}');
      assert.equal(received.status, status);
      assert.match(received.body.error, message);
    });
  }

  test('settles without advancing', async () => {
    time.outcome = { kind: 'moved', now: NOW_MS, fired: 0 };
    const { status, body } = await harness.call<unknown>('POST', '/v2/clock/settle');
    assert.deepEqual([status, body], [200, { now: NOW_MS, fired: 0 }]);
    assert.deepEqual(time.moves.at(-1), { byMs: 0 });
  });

  test('can be read but not advanced with a read-only token', async () => {
    const headers = { authorization: `Bearer ${harness.readOnlyToken}` };
    assert.equal((await harness.call('GET', '/v2/clock', { headers })).status, 200);
    for (const path of ['/v2/clock/advance', '/v2/clock/settle']) {
      const result = await harness.call('POST', path, { headers, body: '{"by":"7d"}' });
      assert.deepEqual([result.status, result.headers['svc-error-code']], [403, 'read-only-token']);
    }
  });
});

test('a real clock responds with a 404 that says how to get a virtual one', async (t) => {
  const harness = await ApiHarness.open();
  t.after(() => harness.close());
  for (const [method, path] of [
    ['GET', '/v2/clock'],
    ['POST', '/v2/clock/advance'],
    ['POST', '/v2/clock/settle'],
  ] as const) {
    const response = await harness.call(method, path, method === 'POST' ? { body: '{"by":"7d"}' } : {});
    assert.equal(response.status, 404);
    assert.match(response.body.error, /start it with `everstep dev --virtual-clock`/);
  }
});
