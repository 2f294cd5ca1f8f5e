/** Queued messages that are canceled before they are dispatched again. They must not take a slot of their queue. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NotAttemptedError } from '../../ports/not-attempted.js';
import type { DueTask, Store } from '../../ports/stores/store.js';
import { type Bench, ScriptedCaller, ScriptedSender, settle, withRuntime } from '../runtime.fixture.js';
import { commandFor, respondWith, textOf } from './plain-messages.fixture.js';

const noSteps = new ScriptedCaller(() => {
  throw new Error('unexpected step');
});
const Q = { instanceId: 'qi_1', name: 'q' };

/** Publishes messages to the queue. Resolves with the id of the first one. */
async function publish({ runtime }: Bench, texts: readonly string[], notBefore: number | null = null): Promise<string> {
  const commands = texts.map((text) => commandFor(text, { queue: 'q', notBefore }));
  const [outcome] = await runtime.messages.publish(commands);
  await settle();
  assert.ok(outcome && 'messages' in outcome);
  return outcome.messages[0]?.messageId ?? '';
}

const cancel = ({ runtime }: Bench, messageId: string) => runtime.messages.cancel({ instanceId: 'qi_1', messageId });

test('a message that is canceled while it waits for the retry of a failed delivery', async () => {
  const sender = new ScriptedSender(() => respondWith(200));
  let isDamaged = false;
  const reads: string[] = [];
  const wrap = (store: Store): Store => ({
    ...store,
    loadRun: (query) => {
      reads.push(query.runKey);
      return isDamaged ? Promise.reject(new Error('the row is damaged')) : store.loadRun(query);
    },
  });
  await withRuntime(
    noSteps,
    async (bench) => {
      await bench.runtime.queues.put({ ...Q, paused: true });
      const first = await publish(bench, ['1', '2']);
      // The messages are no longer in memory.
      await bench.restart();
      isDamaged = true;
      await bench.runtime.queues.put({ ...Q, paused: false });
      await settle();
      assert.deepEqual([reads.length, sender.sent.length], [1, 0]);
      isDamaged = false;
      await cancel(bench, first);
      await settle();
      const readCount = reads.length;
      bench.clock.move(1_000);
      await settle();
      assert.equal(reads.length, readCount, 'the canceled message is not attempted again');
      await publish(bench, ['3']);
      assert.deepEqual(sender.sent.map(textOf), ['2', '3']);
    },
    { sender, wrap },
  );
});

test('a message of a deleted queue that could not be attempted', async () => {
  let isFirst = true;
  const sender = new ScriptedSender(() => {
    if (!isFirst) return respondWith(200);
    isFirst = false;
    throw new NotAttemptedError('this process has no free file descriptor');
  });
  await withRuntime(
    noSteps,
    async (bench) => {
      await publish(bench, ['1']);
      assert.equal(await bench.runtime.queues.delete(Q), true);
      bench.clock.move(1_000);
      await publish(bench, ['2']);
      assert.deepEqual(sender.sent.map(textOf), ['1', '2']);
    },
    { sender },
  );
});

test('a message that is canceled after a scan has found it', async () => {
  const sender = new ScriptedSender(() => respondWith(200));
  let endScan: (() => void) | null = null;
  let isScanHeld = false;
  const wrap = (store: Store): Store => ({
    ...store,
    dueTasks: async (query): Promise<readonly DueTask[]> => {
      const tasks = await store.dueTasks(query);
      if (isScanHeld)
        await new Promise<void>((resolve) => {
          endScan = resolve;
        });
      return tasks;
    },
  });
  await withRuntime(
    noSteps,
    async (bench) => {
      const first = await publish(bench, ['1'], bench.clock.now() + 1_000);
      isScanHeld = true;
      bench.clock.move(1_000);
      await settle();
      await cancel(bench, first);
      isScanHeld = false;
      endScan?.();
      await settle();
      await publish(bench, ['2']);
      assert.deepEqual(sender.sent.map(textOf), ['2']);
    },
    { sender, wrap },
  );
});
