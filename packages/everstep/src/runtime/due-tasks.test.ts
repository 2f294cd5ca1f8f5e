import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DueTask } from '../ports/store.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { DueTasks } from './due-tasks.js';
import { quiet, StandingClock, settle } from './runtime.fixture.js';

const POLL_MS = 1000;

/** One task, due in 50 ms. Who takes it gives it back as long as it is not due by the clock. */
async function open(shared: boolean) {
  const clock = new StandingClock();
  const task: DueTask = {
    ...{ runKey: 'run', slot: 1, kind: 'sleep', instanceId: 'qi', workflowUrl: 'http://app', flowControlKey: null },
    ...{ dueAt: clock.now() + 50, runVersion: 0 },
  };
  const reads = { claims: 0, taken: 0, actedOn: 0 };
  let claimed = !shared;
  const sqlite = await openSqliteStore({ file: ':memory:' });
  const store = {
    ...sqlite,
    async dueTasks({ before, after }: Parameters<typeof sqlite.dueTasks>[0]) {
      return claimed && task.dueAt <= before && (after === null || after.dueAt < task.dueAt) ? [task] : [];
    },
    async nextDueAt({ after }: Parameters<typeof sqlite.nextDueAt>[0]) {
      return (!claimed || !shared) && task.dueAt > after ? task.dueAt : null;
    },
  };
  let whenTaken = (): void => {};
  const due: DueTasks = new DueTasks({
    ...{ store, clock, log: quiet, backlog: () => 0 },
    async take({ dueAt }) {
      reads.taken++;
      whenTaken();
      whenTaken = () => {};
      if (dueAt > clock.now()) due.expect(dueAt);
      else reads.actedOn++;
    },
    ...(shared && {
      async claim({ before }: { readonly before: number }) {
        reads.claims++;
        if (claimed || task.dueAt > before) return [];
        claimed = true;
        return [task];
      },
    }),
  });
  const move = async (ms: number) => {
    clock.move(ms);
    await settle();
  };
  const close = async () => {
    await due.stop();
    await sqlite.close();
  };
  return {
    ...{ due, reads, move, close },
    whenTaken: (fire: () => void) => {
      whenTaken = fire;
    },
    setBack: (ms: number) => clock.move(-ms),
    now: () => clock.now(),
  };
}

for (const shared of [false, true]) {
  const where = shared ? 'where several nodes share the store' : 'where one process has it';

  test(`a task that is due is taken once, ${where}`, async () => {
    const { due, reads, move, close } = await open(shared);
    await due.start();
    for (let n = 0; n < 10; n++) await move(20);
    await move(3 * POLL_MS);
    assert.deepEqual([reads.taken, reads.actedOn], [1, 1]);
    await close();
  });

  test(`a task that was taken as the clock was set back is taken again when it is due, ${where}`, async () => {
    const { due, reads, move, close, setBack, whenTaken } = await open(shared);
    await due.start();
    whenTaken(() => setBack(30));
    await move(60);
    assert.deepEqual([reads.taken, reads.actedOn], [1, 0]);
    for (let n = 0; n < 10; n++) await move(10);
    assert.ok(reads.actedOn >= 1);
    await close();
  });
}

test('what a node claimed as it wrote it, before its clock was set back, is found when it is due', async () => {
  const { due, reads, move, close, setBack, now } = await open(true);
  // It was written as due at once: the node has claimed it, and nobody looks for it.
  await move(POLL_MS);
  await due.start();
  assert.equal(reads.actedOn, 1, 'claimed, and acted on');
  reads.actedOn = 0;
  const from = now();
  setBack(POLL_MS);
  due.clockSetBack(from);
  for (let n = 0; n < 4 && reads.actedOn === 0; n++) await move(POLL_MS / 2);
  assert.ok(reads.actedOn >= 1, 'read again, as it may have been given back');
  await close();
});
