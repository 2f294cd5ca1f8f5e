import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DestinationHold, InstanceSettings } from '../../../engine/runs/run.js';
import type { StoreWrite } from '../../../ports/stores/store.js';
import { type OpenStore, withStore } from '../harness.js';
import { apply, creation, INSTANCE, OTHER_INSTANCE, sampleRun, stepTask, T0, unit } from '../samples.js';

const hold = (origin: string, overrides: Partial<DestinationHold> = {}): DestinationHold => ({
  origin,
  by: 'hand',
  reason: 'it is being moved',
  since: T0,
  ...overrides,
});

const setHold = (origin: string, newHold: DestinationHold | null, instanceId = INSTANCE): StoreWrite => ({
  kind: 'set-hold',
  instanceId,
  origin,
  hold: newHold,
  by: 'hand',
});

/** A write of the breaker of a node. */
const setBreakerHold = (origin: string, newHold: DestinationHold | null): StoreWrite => ({
  kind: 'set-hold',
  instanceId: INSTANCE,
  origin,
  hold: newHold,
  by: 'breaker',
});

const UNLIMITED = { maxAgeMs: null, maxCount: null };
const settings: InstanceSettings = {
  breaker: { enabled: true, failures: 5, probeEveryMs: 1000 },
  retention: { succeeded: { maxAgeMs: 1000, maxCount: 10 }, failed: UNLIMITED, canceled: UNLIMITED, deadLetter: UNLIMITED },
};

export function instanceConformance(open: OpenStore): void {
  describe('instances', () => {
    test(
      'hold their own destinations, each with one hold, until it is released',
      withStore(open, async (store, underTest) => {
        const [a, b] = ['http://a.example', 'https://b.example:8443'];
        assert.deepEqual(await store.listHolds({ instanceId: INSTANCE }), []);
        await apply(store, [
          setHold(b, hold(b)),
          setBreakerHold(a, hold(a, { by: 'breaker' })),
          setBreakerHold(a, hold(a, { by: 'breaker', reason: 'it refused 5 in a row', since: T0 + 9 })),
          setHold(a, hold(a), OTHER_INSTANCE),
        ]);
        const reopened = await underTest.reopen();
        const breakerHold = hold(a, { by: 'breaker', reason: 'it refused 5 in a row', since: T0 + 9 });
        assert.deepEqual(await reopened.listHolds({ instanceId: INSTANCE }), [breakerHold, hold(b)]);
        assert.equal(await reopened.latestTime(), T0 + 9);

        await apply(reopened, [setHold(a, null), setHold('http://never.example', null)]);
        assert.deepEqual(await reopened.listHolds({ instanceId: INSTANCE }), [hold(b)]);
        assert.deepEqual(await reopened.listHolds({ instanceId: OTHER_INSTANCE }), [hold(a)]);
      }),
    );

    test(
      'keep a hold that was set by hand when a breaker opens or closes',
      withStore(open, async (store) => {
        const a = 'http://a.example';
        const opened = (since: number) => hold(a, { by: 'breaker', reason: 'it refused 5 in a row', since });
        const holdsAfter = async (...writes: StoreWrite[]) => {
          await apply(store, writes);
          return store.listHolds({ instanceId: INSTANCE });
        };
        assert.deepEqual(await holdsAfter(setBreakerHold(a, opened(T0))), [opened(T0)]);
        assert.deepEqual(await holdsAfter(setBreakerHold(a, opened(T0 + 1))), [opened(T0 + 1)]);
        assert.deepEqual(await holdsAfter(setBreakerHold(a, null)), []);
        assert.deepEqual(await holdsAfter(setBreakerHold(a, opened(T0)), setHold(a, hold(a))), [hold(a)]);
        assert.deepEqual(await holdsAfter(setBreakerHold(a, opened(T0 + 2))), [hold(a)]);
        assert.deepEqual(await holdsAfter(setBreakerHold(a, null)), [hold(a)]);
        assert.deepEqual(await holdsAfter(setHold(a, null), setBreakerHold(a, opened(T0 + 3))), [opened(T0 + 3)]);
        assert.deepEqual(await holdsAfter(setHold(a, hold(a)), setBreakerHold(a, null)), [hold(a)]);
        assert.deepEqual(await holdsAfter(setBreakerHold(a, null), setHold(a, null)), []);
      }),
    );

    test(
      'keep the settings that were set last, separately for each instance',
      withStore(open, async (store, underTest) => {
        assert.equal(await store.instanceSettings({ instanceId: INSTANCE }), null);
        const settingsWithoutBreaker = { ...settings, breaker: { ...settings.breaker, enabled: false } };
        await apply(store, [
          { kind: 'set-instance-settings', instanceId: INSTANCE, settings: settingsWithoutBreaker },
          { kind: 'set-instance-settings', instanceId: INSTANCE, settings },
        ]);
        const reopened = await underTest.reopen();
        assert.deepEqual(await reopened.instanceSettings({ instanceId: INSTANCE }), settings);
        assert.equal(await reopened.instanceSettings({ instanceId: OTHER_INSTANCE }), null);
      }),
    );
  });

  describe('the guard of an open task', () => {
    test(
      'holds while the task exists with its message, even after its run has ended',
      withStore(open, async (store) => {
        const run = sampleRun(1);
        const runKey = run.key;
        const guardedUnit = (slot: number, messageId: string, key = runKey) =>
          unit([], [{ kind: 'task-open', runKey: key, slot, messageId }]);
        await apply(store, [
          creation(run),
          { kind: 'end-run', runKey, outcome: { status: 'canceled' }, completedAt: T0 + 5 },
          { kind: 'put-task', runKey, task: stepTask(3, T0) },
        ]);
        assert.deepEqual(
          await store.commit([
            guardedUnit(3, 'msg_task_3'),
            guardedUnit(3, 'msg_other'),
            guardedUnit(4, 'msg_task_3'),
            guardedUnit(3, 'msg_task_3', 'no such run'),
            unit([{ kind: 'delete-task', runKey, slot: 3 }]),
            guardedUnit(3, 'msg_task_3'),
          ]),
          [
            { kind: 'applied' },
            { kind: 'task-gone' },
            { kind: 'task-gone' },
            { kind: 'task-gone' },
            { kind: 'applied' },
            { kind: 'task-gone' },
          ],
        );
      }),
    );
  });
}
