import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { DeliveryResult } from './delivery.js';
import { GateHarness, INSTANCE, type Start } from './gates.fixture.js';
import { LimitsObserver } from './limits-observer.fixture.js';

const KEYS = ['a', 'b'] as const;
const ORIGINS = ['http://x:80', 'http://y:80'] as const;
const MAX_LATENCY_MS = 4;

const key = fc.constantFrom(...KEYS);
const origin = fc.constantFrom(...ORIGINS);
const parallelism = fc.option(fc.integer({ min: 1, max: 4 }), { nil: null });
const rate = fc.option(fc.integer({ min: 1, max: 5 }), { nil: null });
const limits = fc
  .record({ parallelism, rate, periodMs: fc.integer({ min: 100, max: 400 }) })
  .filter((chosen) => chosen.parallelism !== null || chosen.rate !== null);

const action = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('offer' as const), key, origin, count: fc.integer({ min: 1, max: 12 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('trigger' as const), key, limits }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const, 'reset' as const), key }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('withdraw' as const), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('hold' as const, 'release' as const), origin }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
);
const schedule = fc.record({
  actions: fc.array(fc.record({ afterMs: fc.integer({ min: 0, max: 150 }), action }), { minLength: 5, maxLength: 40 }),
  places: fc.integer({ min: 1, max: 8 }),
  durationsMs: fc.array(fc.integer({ min: 0, max: 120 }), { minLength: 1, maxLength: 7 }),
  latenciesMs: fc.array(fc.integer({ min: 0, max: MAX_LATENCY_MS }), { minLength: 1, maxLength: 5 }),
  /** Every nth delivery is not made. */
  notMadeEvery: fc.integer({ min: 3, max: 20 }),
});
type Schedule = typeof schedule extends fc.Arbitrary<infer Value> ? Value : never;

function inTurn(values: readonly number[]): () => number {
  let at = 0;
  return () => values[at++ % values.length] ?? 0;
}

class Play {
  readonly harness = new GateHarness();
  readonly observers = new Map(KEYS.map((name) => [name as string, new LimitsObserver()]));
  /** Pending deliveries, in the order of their offers. */
  readonly pending = new Map<string, { key: string; origin: string; number: number }>();
  private readonly lastOf = new Map<string, number>();
  private readonly changes: Promise<unknown>[] = [];
  /** Violations of the rules. */
  readonly wrong: string[] = [];
  private offers = 0;

  constructor({ places, durationsMs, latenciesMs, notMadeEvery }: Schedule) {
    const { harness } = this;
    harness.slotsPerOrigin = places;
    harness.store.latencyMs = inTurn(latenciesMs);
    const duration = inTurn(durationsMs);
    let ended = 0;
    harness.onStart = (start) => this.check(start);
    harness.endpoint = (start, _end, clock) => {
      clock.setTimer(clock.now() + duration(), () => {
        if (harness.inFlight.get(start.runKey) !== start) return;
        const made = ++ended % notMadeEvery !== 0;
        const result: DeliveryResult = made ? { kind: 'delivered' } : { kind: 'not-sent' };
        this.pending.delete(start.runKey);
        // First, because another delivery may start in its slot.
        if (!made) this.observer(start.limits.flowControlKey).notMade(start);
        harness.end(start, result);
      });
    };
  }

  private observer(name: string | null): LimitsObserver {
    const observer = this.observers.get(name ?? '');
    assert.ok(observer);
    return observer;
  }

  private check(start: Start): void {
    const { runKey } = start;
    const { flowControlKey, origin } = start.limits;
    const inFlight = [...this.harness.inFlight.values()].filter(({ limits }) => limits.flowControlKey === flowControlKey);
    const broken = this.observer(flowControlKey).started(start, inFlight.length);
    if (broken) this.wrong.push(broken);
    if (this.harness.store.holds.has(origin) && this.releasing === 0) this.wrong.push(`${runKey} started, and ${origin} is held`);
    const pending = this.pending.get(runKey);
    const line = `${flowControlKey} ${origin}`;
    const last = this.lastOf.get(line) ?? -1;
    if (!pending) this.wrong.push(`${runKey} started, and it was not pending`);
    else if (pending.number <= last) this.wrong.push(`${runKey} was overtaken at ${line}`);
    this.lastOf.set(line, pending?.number ?? last);
  }
  private releasing = 0;

  act(chosen: Schedule['actions'][number]['action']): void {
    const { harness } = this;
    switch (chosen.kind) {
      case 'offer':
        for (let n = 0; n < chosen.count; n++) this.offerOne(chosen.key, chosen.origin);
        return;
      case 'trigger': {
        const { parallelism, rate, periodMs } = chosen.limits;
        const now = { parallelism, rate, periodMs: rate === null ? null : periodMs };
        const observer = this.observer(chosen.key);
        const settled = observer.changing({ kind: 'limits', limits: { ...observer.limits, ...now } });
        const flowControl = {
          key: chosen.key,
          ...(parallelism === null ? {} : { parallelism }),
          ...(rate === null ? {} : { rate, periodMs }),
        };
        const unit = {
          guards: [],
          writes: [{ kind: 'put-flow-control', instanceId: INSTANCE, flowControl, at: harness.now }],
        } as const;
        this.changes.push(
          harness.store.commitControl(unit).then(() => {
            settled(harness.now);
            harness.gates.recordLimits(INSTANCE, flowControl);
          }),
        );
        return;
      }
      case 'pause':
      case 'resume': {
        const observer = this.observer(chosen.key);
        const registered = harness.store.keys.has(chosen.key);
        if (!registered) return;
        const settled = observer.changing({ kind: 'limits', limits: { ...observer.limits, paused: chosen.kind === 'pause' } });
        const made = harness.gates.changeFlowControl({ instanceId: INSTANCE, key: chosen.key, change: { kind: chosen.kind } });
        this.changes.push(made.then(() => settled(harness.now)));
        return;
      }
      case 'reset': {
        if (!harness.store.keys.has(chosen.key)) return;
        const settled = this.observer(chosen.key).changing({ kind: 'reset' });
        const made = harness.gates.changeFlowControl({ instanceId: INSTANCE, key: chosen.key, change: { kind: 'reset-rate' } });
        this.changes.push(made.then(() => settled(harness.now)));
        return;
      }
      case 'withdraw': {
        const waiting = [...this.pending.keys()].filter((runKey) => !harness.inFlight.has(runKey));
        const runKey = waiting[chosen.at % Math.max(1, waiting.length)];
        if (runKey === undefined) return;
        harness.gates.withdraw({ runKey, slot: 0 });
        this.pending.delete(runKey);
        return;
      }
      case 'hold':
        this.changes.push(harness.gates.holdDestination({ instanceId: INSTANCE, origin: chosen.origin, reason: 'by hand' }));
        return;
      case 'release':
        this.releasing++;
        this.changes.push(
          harness.gates.releaseDestination({ instanceId: INSTANCE, origin: chosen.origin }).then(() => this.releasing--),
        );
        return;
      case 'crash':
        this.crash();
    }
  }

  private offerOne(name: string, origin: string): void {
    const runKey = `${name}${this.offers}`;
    this.pending.set(runKey, { key: name, origin, number: this.offers++ });
    this.harness.offer(name, { origin, runKey });
  }

  /**
   * Replaces the process by another one, which finds the pending deliveries, oldest first. Those in flight are delivered again.
   */
  private crash(): void {
    this.harness.crash();
    this.lastOf.clear();
    for (const [name, observer] of this.observers) {
      const broken = observer.crashed(this.harness.store.keys.get(name)?.window ?? null, this.harness.now);
      if (broken) this.wrong.push(broken);
    }
    for (const [runKey, { key: name, origin }] of this.pending) this.harness.offer(name, { origin, runKey });
  }

  /** Waits for the requested changes, because they would never resolve after a crash. */
  async settle(): Promise<void> {
    const changes = this.changes.splice(0);
    if (changes.length > 0) await this.harness.get(Promise.all(changes), MAX_LATENCY_MS * 2 * (changes.length + 4));
  }
}

test('limits, order and holds are kept on any schedule, across crashes, and no delivery is lost', async () => {
  await fc.assert(
    fc.asyncProperty(schedule, async (chosen) => {
      const play = new Play(chosen);
      const { harness } = play;
      for (const { afterMs, action: next } of chosen.actions) {
        if (next.kind === 'crash') await play.settle();
        play.act(next);
        if (next.kind !== 'offer' && next.kind !== 'withdraw') await play.settle();
        await harness.passTime(afterMs);
      }
      for (const name of KEYS) play.act({ kind: 'resume', key: name });
      for (const origin of ORIGINS) play.act({ kind: 'release', origin });
      await play.settle();
      await harness.passTime(200_000);
      assert.deepEqual(play.wrong, []);
      assert.deepEqual([...play.pending.keys()], [], 'pending deliveries');
      const left = await harness.get(harness.gates.flowControls({ instanceId: INSTANCE }), 0);
      for (const { waiting, inFlight } of left) assert.deepEqual([waiting, inFlight], [0, 0]);
    }),
    // The long run uses another seed each time.
    { numRuns: 150, seed: process.env.EVERSTEP_SOAK === '1' ? Date.now() : 41 },
  );
});
