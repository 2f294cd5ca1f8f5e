/** The order in which a process that does not share its store offers the messages of a queue. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Clock } from '../../ports/clock.js';
import type { DueTask, Store, TaskReference } from '../../ports/stores/store.js';
import { ALWAYS_OPEN } from '../../ports/stores/store-writes.js';
import { quiet } from '../runtime.fixture.js';
import { DueTasks } from './due-tasks.js';

const INSTANCE = 'qi_1';
/** More tasks than a scan returns in one page. */
const BURST = 550;

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** How late timers fire after the machine was suspended, in milliseconds. */
const SUSPENDED_TIMERS_MS = 3_000;

/** A clock whose timers fire a turn of the event loop late, and much later after a jump. */
class LateClock implements Clock {
  private time = 1_800_000_000_000;
  private timers: { at: number; readonly fire: () => void }[] = [];

  now(): number {
    return this.time;
  }
  setTimer(at: number, fire: () => void): () => void {
    const timer = { at, fire };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }
  endOfTurn(fire: () => void): void {
    setImmediate(fire);
  }
  /** Fires the timers that are due, and then moves the time. */
  move(ms: number): void {
    const due = this.timers.filter((timer) => timer.at <= this.time);
    this.timers = this.timers.filter((timer) => timer.at > this.time);
    this.time += ms;
    for (const { fire } of due) fire();
  }
  /** Moves the time as if the machine had been suspended: timers do not fire until later. */
  jump(ms: number): void {
    this.time += ms;
    for (const timer of this.timers) timer.at = Math.max(timer.at, this.time + SUSPENDED_TIMERS_MS);
  }
}

/** A task in the store. Only messages have a place in the order. */
interface StoredTask extends DueTask {
  readonly createdTurn: number;
  /** Turn in which the publisher receives the response. */
  acknowledgedTurn: number;
}

/** A queue whose messages are published one after another, and other tasks of its instance. */
class QueueBench {
  readonly clock = new LateClock();
  /** Messages in the order in which they were offered for the first time. */
  readonly offered: StoredTask[] = [];
  readonly due: DueTasks;
  /** Messages that were passed on as deferred, although a scan had offered them in the meantime. */
  readonly repeated: string[] = [];
  isFull = false;
  /** Turns of the event loop that a read takes. */
  readTurns = 0;
  private readonly tasks: StoredTask[] = [];
  private readonly offeredKeys = new Set<string>();
  /** Messages that a scan had offered before they were deferred. */
  private readonly deferredLate = new Set<string>();
  private turn = 0;
  private taskCount = 0;

  constructor() {
    const bench = this;
    this.due = new DueTasks({
      ...{ store: this.store(), clock: this.clock, log: quiet, writes: ALWAYS_OPEN },
      handler: {
        backlog: { hasCapacity: () => !bench.isFull, countOf: () => (bench.isFull ? 1_000 : 0) },
        async handleDue({ runKey }) {
          bench.offer(runKey);
        },
        onMessageInOrder({ runKey }) {
          if (bench.offeredKeys.has(runKey) && !bench.deferredLate.has(runKey)) bench.repeated.push(runKey);
          bench.offer(runKey);
        },
      },
    });
  }

  /** Returns a store that reads in one turn of the event loop and responds in a later one. */
  private store(): Pick<Store, 'dueTasks' | 'dueInstances' | 'nextDueAt'> {
    const later = async <Value>(value: Value): Promise<Value> => {
      for (let turns = 0; turns < this.readTurns; turns++) await nextTurn();
      return value;
    };
    const isBehind = (task: DueTask, after: TaskReference | null): boolean =>
      !after || task.dueAt > after.dueAt || (task.dueAt === after.dueAt && task.runKey > after.runKey);
    return {
      dueTasks: ({ before, after, limit }) => {
        const page = this.tasks.filter((task) => task.dueAt <= before && isBehind(task, after));
        return later(page.sort((a, b) => a.dueAt - b.dueAt || (a.runKey < b.runKey ? -1 : 1)).slice(0, limit));
      },
      dueInstances: () => later([INSTANCE]),
      nextDueAt: ({ after }) => {
        const dueTimes = this.tasks.map(({ dueAt }) => dueAt).filter((dueAt) => dueAt > after);
        return later(dueTimes.length === 0 ? null : Math.min(...dueTimes));
      },
    };
  }

  private offer(runKey: string): void {
    const index = this.tasks.findIndex((task) => task.runKey === runKey);
    const task = this.tasks[index];
    if (!task || this.offeredKeys.has(runKey)) return;
    this.offeredKeys.add(runKey);
    if (task.queue === undefined) this.tasks.splice(index, 1);
    else this.offered.push(task);
  }

  private addTask(more: Partial<StoredTask>): StoredTask {
    const task: StoredTask = {
      ...{ instanceId: INSTANCE, slot: 0, kind: 'message', workflowUrl: 'http://app', flowControlKey: null, runVersion: 0 },
      ...{ runKey: `run-${String(this.taskCount++).padStart(8, '0')}`, dueAt: this.clock.now() },
      ...{ createdTurn: this.turn, acknowledgedTurn: Number.POSITIVE_INFINITY },
      ...more,
    };
    this.tasks.push(task);
    return task;
  }

  /** Publishes a message. Its commit becomes visible in a later turn than its due time is set, and is confirmed even later. */
  async publish(delayMs: number, commitTurns: number): Promise<void> {
    const [dueAt, createdTurn] = [this.clock.now() + delayMs, this.turn];
    for (let turns = 0; turns < commitTurns; turns++) await this.pass(1);
    const task = this.addTask({ queue: 'q', dueAt, createdTurn });
    for (let turns = 0; turns < commitTurns; turns++) await this.pass(1);
    const limits = { instanceId: INSTANCE, flowControlKey: null, origin: 'http://app', queue: 'q' };
    if (this.offeredKeys.has(task.runKey)) this.deferredLate.add(task.runKey);
    if (dueAt > this.clock.now()) this.due.scanAt(dueAt);
    else if (!this.due.defer({ ...task, limits }, dueAt)) this.offer(task.runKey);
    task.acknowledgedTurn = this.turn;
    await this.pass();
  }

  /** Adds tasks that become due together, as after a restart or when many retries are due. */
  burst(delayMs: number): void {
    for (let n = 0; n < BURST; n++) this.addTask({ dueAt: this.clock.now() + delayMs });
    this.due.scanAt(this.clock.now() + delayMs);
  }

  /** Empties the backlog. */
  drain(): void {
    this.isFull = false;
    this.due.resume(INSTANCE);
  }

  async pass(ms = 0): Promise<void> {
    this.clock.move(ms);
    this.turn++;
    await nextTurn();
  }

  /** Offers everything that is left. */
  async finish(): Promise<void> {
    this.drain();
    for (let rounds = 0; rounds < 300; rounds++) await this.pass(rounds % 10 === 0 ? 1_000 : 0);
    await this.due.stop();
  }

  /** Returns the messages that were offered before one that was acknowledged before they were created and is not due later. */
  get overtaken(): readonly string[] {
    return this.offered.flatMap((first, index) =>
      this.offered
        .slice(index + 1)
        .filter((second) => second.dueAt <= first.dueAt && second.acknowledgedTurn < first.createdTurn)
        .map((second) => `${first.runKey} overtook ${second.runKey}`),
    );
  }
  get messageCount(): number {
    return this.tasks.filter(({ queue }) => queue !== undefined).length;
  }
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('publish' as const), ms: fc.constant(0), turns: fc.nat(2) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('publish' as const), ms: fc.integer({ min: 1, max: 5 }), turns: fc.nat(2) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(3), turns: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('burst' as const), ms: fc.nat(3), turns: fc.constant(0) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('jump' as const), ms: fc.nat(5), turns: fc.constant(0) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('fill' as const, 'drain' as const, 'read' as const, 'restart' as const),
      ms: fc.constant(0),
      turns: fc.nat(3),
    }),
  },
);

test('a message is offered after all messages that were acknowledged before it was published and are not due later', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
      const bench = new QueueBench();
      void bench.due.start();
      for (const { kind, ms, turns } of steps) {
        if (kind === 'publish') await bench.publish(ms, turns);
        else if (kind === 'burst') bench.burst(ms);
        else if (kind === 'jump') bench.clock.jump(ms);
        else if (kind === 'fill') bench.isFull = true;
        else if (kind === 'drain') bench.drain();
        else if (kind === 'read') bench.readTurns = turns;
        else if (kind === 'restart') bench.due.restart();
        else for (let n = 0; n <= turns; n++) await bench.pass(ms);
      }
      await bench.finish();
      assert.deepEqual(bench.overtaken, []);
      assert.deepEqual(bench.repeated, []);
      assert.equal(bench.offered.length, bench.messageCount, 'each message was offered');
    }),
    { numRuns: 100 },
  );
});

test('messages are offered soon after the machine was suspended, while timers are still late', async () => {
  const bench = new QueueBench();
  await bench.due.start();
  await bench.publish(10, 0);
  bench.clock.jump(1_000);
  for (let count = 2; count <= 4; count++) {
    await bench.publish(0, 0);
    for (let turns = 0; turns < 10; turns++) await nextTurn();
    assert.equal(bench.offered.length, count);
  }
  assert.deepEqual(bench.overtaken, []);
  await bench.due.stop();
});
