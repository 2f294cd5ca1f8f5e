/** Tests the memory limit for replies: which replies are read, which wait, and that none waits forever. */
import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Pool } from 'undici';
import { ownersOf } from '../../fairness/owners.fixture.js';
import { FREE_REPLY_BYTES, ReplyBudget, type ReplyBytes } from '../../fairness/reply-budget.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import { type ExchangeRequest, exchange } from './exchange.js';

const MiB = 1024 * 1024;
const LIMITS = { maxBytes: 256 * MiB, maxReplyBytes: 32 * MiB };

/** A reply that is read in chunks as far as the budget allows. */
class SimulatedReply {
  received = 0;
  isPaused = false;
  readonly bytes: ReplyBytes;
  private readonly size: number;
  private readonly length: number | null;

  constructor(budget: ReplyBudget, instanceId: string, size: number, isLengthKnown: boolean) {
    this.bytes = budget.open(instanceId, LIMITS.maxReplyBytes);
    this.size = size;
    this.length = isLengthKnown ? size : null;
  }

  get isDone(): boolean {
    return this.received === this.size;
  }

  /** Reads a chunk if allowed, and ends after the last one. */
  read(chunk = 256 * 1024): void {
    if (this.isPaused || this.isDone) return;
    this.received = Math.min(this.size, this.received + chunk);
    if (this.isDone) this.bytes.release();
    else
      this.isPaused = !this.bytes.canContinue(this.received, this.length, () => {
        this.isPaused = false;
      });
  }
}

function readAll(replies: readonly SimulatedReply[], rounds: number): void {
  for (let round = 0; round < rounds; round++) for (const reply of replies) reply.read();
}

test('small replies never wait, whatever other replies use', () => {
  const budget = new ReplyBudget(LIMITS, ONE_OWNER);
  readAll(
    Array.from({ length: 20 }, () => new SimulatedReply(budget, 'a1', 30 * MiB, true)),
    2,
  );
  const small = budget.open('a1', LIMITS.maxReplyBytes);
  assert.equal(
    small.canContinue(FREE_REPLY_BYTES, null, () => {}),
    true,
  );
  assert.equal(
    small.canContinue(FREE_REPLY_BYTES + 1, FREE_REPLY_BYTES + 2, () => {}),
    true,
    'a little is left',
  );
});

for (const isLengthKnown of [true, false]) {
  const lengthText = isLengthKnown ? 'known' : 'unknown';
  for (const [accountsText, owners] of [
    ['one account', ONE_OWNER],
    ['three accounts', ownersOf('a1', 'b1', 'c1')],
  ] as const) {
    test(`many large replies of ${lengthText} length to ${accountsText} stay within the limit, and all of them are read`, () => {
      const budget = new ReplyBudget(LIMITS, owners);
      const replies = Array.from(
        { length: 200 },
        (_, index) => new SimulatedReply(budget, ['a1', 'b1', 'c1'][index % 3] ?? '', (1 + (index % 31)) * MiB, isLengthKnown),
      );
      for (let round = 0; round < 20_000 && replies.some(({ isDone }) => !isDone); round++) {
        readAll(replies, 1);
        const inMemory = replies.reduce((sum, { received, isDone }) => sum + (isDone ? 0 : received), 0);
        // A chunk is read before the budget is checked.
        const maxInMemory = LIMITS.maxBytes + 200 * (FREE_REPLY_BYTES + 256 * 1024);
        assert.ok(inMemory <= maxInMemory, `${inMemory} bytes`);
        assert.ok(budget.free >= 0);
      }
      assert.deepEqual([replies.filter(({ isDone }) => !isDone).length, budget.free], [0, LIMITS.maxBytes]);
    });
  }
}

test('accounts that never release their replies leave memory for others', () => {
  const owners: InstanceOwners = ownersOf('hog1', 'pig1', 'quiet1');
  const budget = new ReplyBudget(LIMITS, owners);
  for (const instanceId of ['hog1', 'pig1']) {
    const replies = Array.from({ length: 256 }, () => new SimulatedReply(budget, instanceId, 31 * MiB, true));
    readAll(replies, 20);
    assert.ok(replies.some(({ isPaused }) => isPaused));
  }
  const quiet = new SimulatedReply(budget, 'quiet1', 20 * MiB, true);
  readAll([quiet], 100);
  assert.equal(quiet.isDone, true);
});

async function serve(t: TestContext, respond: (response: ServerResponse) => void): Promise<Pool> {
  const server = createServer((_request, response) => respond(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const pool = new Pool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { connections: 8, pipelining: 1 });
  t.after(async () => {
    await pool.destroy();
    server.closeAllConnections();
    server.close();
  });
  return pool;
}

const request = (more: Partial<ExchangeRequest> = {}): ExchangeRequest => ({
  method: 'GET',
  path: '/',
  headers: [],
  body: null,
  timeoutMs: 5_000,
  maxResponseBytes: 8 * MiB,
  ...more,
});

for (const isChunked of [false, true]) {
  test(`a ${isChunked ? 'chunked' : 'whole'} reply waits for memory and then arrives unchanged`, async (t) => {
    const body = Buffer.alloc(3 * MiB, 'everstep');
    const pool = await serve(t, (response) => {
      if (!isChunked) response.setHeader('content-length', body.length);
      response.end(body);
    });
    const budget = new ReplyBudget({ maxBytes: 16 * MiB, maxReplyBytes: 8 * MiB }, ONE_OWNER);
    const holder = budget.open('a1', 16 * MiB);
    assert.equal(
      holder.canContinue(FREE_REPLY_BYTES + 1, 8 * MiB, () => {}),
      true,
    );
    const other = budget.open('a1', 16 * MiB);
    assert.equal(
      other.canContinue(FREE_REPLY_BYTES + 1, 7 * MiB, () => {}),
      true,
    );
    let hasEnded = false;
    const { signal } = new AbortController();
    const outcome = exchange(pool, request(), budget.open('a1', 8 * MiB), signal).finally(() => {
      hasEnded = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(hasEnded, false);
    holder.release();
    other.release();
    const result = await outcome;
    assert.ok(result.kind === 'response' && result.response.body.equals(body));
    assert.equal(budget.free, 16 * MiB);
  });
}

test('a reply counts until it is recorded, and a waiting reply that times out frees all of its memory', async (t) => {
  const body = Buffer.alloc(3 * MiB, 'x');
  const pool = await serve(t, (response) => response.end(body));
  const budget = new ReplyBudget({ maxBytes: 4 * MiB, maxReplyBytes: 4 * MiB }, ONE_OWNER);
  let recorded = (): void => {};
  const outcomeRecorded = new Promise<void>((resolve) => {
    recorded = resolve;
  });
  const { signal } = new AbortController();
  const first = await exchange(pool, request({ outcomeRecorded }), budget.open('a1', 4 * MiB), signal);
  assert.equal(first.kind, 'response');
  assert.equal(budget.free, MiB);
  const second = await exchange(pool, request({ timeoutMs: 100 }), budget.open('a1', 4 * MiB), signal);
  assert.equal(second.kind, 'timed-out');
  recorded();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(budget.free, 4 * MiB);
});
