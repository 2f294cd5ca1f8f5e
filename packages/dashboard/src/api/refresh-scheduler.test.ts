import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { notifyManager, QueryClient, QueryObserver } from '@tanstack/react-query';
import { changeOf } from './live-changes.js';
import { type PageTimers, RefreshScheduler } from './refresh-scheduler.js';

const INSTANCE = 'qi_1';
const RUNS = changeOf('{"topics":["runs"]}');

/** A page with simulated time, and queries whose requests the test answers. */
class SimulatedPage implements PageTimers {
  readonly client = new QueryClient({ defaultOptions: { queries: { gcTime: Number.POSITIVE_INFINITY, retry: false } } });
  readonly scheduler = new RefreshScheduler(this.client, INSTANCE, this);
  private nowMs = 0;
  private timer: { readonly action: () => void; readonly at: number } | null = null;

  readonly now = (): number => this.nowMs;
  readonly isHidden = (): boolean => false;
  readonly setTimer = (action: () => void, delayMs: number): (() => void) => {
    this.timer = { action, at: this.nowMs + delayMs };
    return () => {
      this.timer = null;
    };
  };

  async advance(ms: number): Promise<void> {
    const endsAt = this.nowMs + ms;
    while (this.runDue(endsAt));
    this.nowMs = endsAt;
    await settled();
  }

  /** Returns whether the timer was due by then. */
  private runDue(endsAt: number): boolean {
    const { timer } = this;
    if (timer === null || timer.at > endsAt) return false;
    this.nowMs = timer.at;
    this.timer = null;
    timer.action();
    return true;
  }

  /** Shows a query, which is requested immediately. */
  open(name: string, topic = 'runs'): SimulatedQuery {
    const query = new SimulatedQuery();
    const queryFn = ({ signal }: { readonly signal: AbortSignal }) => query.request(signal);
    new QueryObserver(this.client, { queryKey: [INSTANCE, topic, name], queryFn }).subscribe(({ data, isError }) => {
      query.shown = isError ? 'failed' : (data ?? null);
    });
    return query;
  }
}

class SimulatedQuery {
  shown: string | null = null;
  requests = 0;
  aborted = 0;
  private end: { readonly answer: (data: string) => void; readonly fail: (error: Error) => void } | null = null;

  request(signal: AbortSignal): Promise<string> {
    this.requests++;
    signal.addEventListener('abort', () => this.aborted++);
    return new Promise((answer, fail) => {
      this.end = { answer, fail };
    });
  }
  async answer(data: string): Promise<void> {
    this.end?.answer(data);
    await settled();
  }
  async fail(): Promise<void> {
    this.end?.fail(new Error('down'));
    await settled();
  }
}

/** Resolves when the notifications of the client have been delivered. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => notifyManager.schedule(resolve));
};

describe('refetches after live hints', () => {
  test('are made at most once per second, for all hints together', async () => {
    const page = new SimulatedPage();
    const [runs, letters] = [page.open('list'), page.open('list', 'dlq')];
    await Promise.all([runs.answer('a'), letters.answer('a')]);
    for (let hint = 0; hint < 9; hint++) {
      page.scheduler.add(RUNS);
      await page.advance(250);
      await runs.answer('b');
    }
    assert.deepEqual([runs.requests, letters.requests], [1 + 3, 1]);
    assert.equal(runs.shown, 'b');
  });

  test('do not abort a slow request, however many hints arrive', async () => {
    const page = new SimulatedPage();
    const [slow, fast] = [page.open('slow'), page.open('fast')];
    await Promise.all([slow.answer('a'), fast.answer('a')]);
    for (let second = 0; second < 8; second++) {
      page.scheduler.add(RUNS);
      await page.advance(1_000);
      await fast.answer('b');
    }
    assert.deepEqual([slow.requests, slow.aborted], [2, 0]);
    assert.equal(fast.requests, 1 + 8, 'the slow request delays no other');
    await slow.answer('b');
    assert.equal(slow.shown, 'b');
    await page.advance(1_000);
    assert.equal(slow.requests, 3, 'the response may be older than the last hint');
    await slow.fail();
    assert.equal(slow.shown, 'failed');
  });

  test('repeat a request that is in flight when the hint arrives, even if it is the first', async () => {
    const page = new SimulatedPage();
    const runs = page.open('list');
    page.scheduler.add(RUNS);
    await page.advance(0);
    await runs.answer('before the change');
    await page.advance(1_000);
    assert.equal(runs.requests, 2);
    await page.advance(60_000);
    assert.equal(runs.requests, 2);
  });

  test('abort a request that has been without a response for half a minute', async () => {
    const page = new SimulatedPage();
    const runs = page.open('list');
    await runs.answer('a');
    page.scheduler.add(RUNS);
    await page.advance(0);
    page.scheduler.add(RUNS);
    await page.advance(29_000);
    assert.deepEqual([runs.requests, runs.aborted], [2, 0]);
    await page.advance(3_000);
    assert.deepEqual([runs.requests, runs.aborted], [3, 1]);
  });

  test('cover only what was loaded before the stream opened', async () => {
    const page = new SimulatedPage();
    const [loaded, loading, account] = [page.open('loaded'), page.open('loading'), page.open('teams', 'account')];
    await Promise.all([loaded.answer('a'), account.answer('a')]);
    page.scheduler.addLoaded();
    await loading.answer('a');
    await page.advance(0);
    assert.deepEqual([loaded.requests, loading.requests, account.requests], [2, 1, 1]);
  });

  test('end with the scheduler', async () => {
    const page = new SimulatedPage();
    const runs = page.open('list');
    await runs.answer('a');
    page.scheduler.add(RUNS);
    page.scheduler.stop();
    await page.advance(10_000);
    assert.equal(runs.requests, 1);
  });
});
