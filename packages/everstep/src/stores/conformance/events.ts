import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Store, WaiterRecord } from '../../ports/stores/store.js';
import { type OpenStore, withStore } from './harness.js';
import {
  apply,
  creation,
  fullHistory,
  INSTANCE,
  keptEvent,
  OTHER_INSTANCE,
  putTasks,
  sampleRun,
  sampleStep,
  sleepTask,
  stepTask,
  T0,
  waitTask,
} from './samples.js';

const run = sampleRun(1);
const runKey = run.key;

const waiters = (store: Store, eventId: string, instanceId = INSTANCE): Promise<readonly WaiterRecord[]> =>
  store.listWaiters({ instanceId, eventId, after: null, limit: 100 });
const slotsOf = async (store: Store, eventId: string) => (await waiters(store, eventId)).map(({ slot }) => slot);
const slotNamesOf = (foundWaiters: readonly WaiterRecord[]) =>
  foundWaiters.map(({ workflowRunId, slot }) => `${workflowRunId}/${slot}`);

export function eventConformance(open: OpenStore): void {
  describe('waits for events', () => {
    test(
      'a wait is found under each of its events with all of its data, even after a restart',
      withStore(open, async (store, underTest) => {
        await apply(store, [creation(run), ...putTasks(runKey, [waitTask(2, T0 + 9, ['paid', 'refunded', 'paid'], T0 + 9)])]);
        const expected: Omit<WaiterRecord, 'eventId'> = {
          runKey,
          slot: 2,
          workflowRunId: run.workflowRunId,
          workflowCreatedAt: run.createdAt,
          workflowUrl: run.workflowUrl,
          dialect: 'native',
          stepName: 'wait 2',
          deadlineAt: T0 + 9,
          since: T0,
        };
        assert.deepEqual(await waiters(store, 'paid'), [{ eventId: 'paid', ...expected }]);
        const reopened = await underTest.reopen();
        assert.deepEqual(await waiters(reopened, 'refunded'), [{ eventId: 'refunded', ...expected }]);
        await apply(reopened, [{ kind: 'delete-task', runKey, slot: 2 }]);
        assert.deepEqual(await waiters(reopened, 'paid'), []);
        assert.deepEqual(await waiters(reopened, 'refunded'), []);
      }),
    );

    test(
      'events of another name or another instance have no waiters',
      withStore(open, async (store) => {
        assert.deepEqual(await waiters(store, 'paid'), []);
        const foreignRun = sampleRun(2, { instanceId: OTHER_INSTANCE });
        await apply(store, [
          creation(run),
          creation(foreignRun),
          ...putTasks(runKey, [waitTask(1, T0, ['paid'])]),
          ...putTasks(foreignRun.key, [waitTask(1, T0, ['paid'])]),
        ]);
        assert.deepEqual(slotNamesOf(await waiters(store, 'paid')), ['wfr_1/1']);
        assert.deepEqual(slotNamesOf(await waiters(store, 'paid', OTHER_INSTANCE)), ['wfr_2/1']);
        for (const eventId of ['pai', 'paid ', 'Paid', '']) assert.deepEqual(await waiters(store, eventId), []);
      }),
    );

    test(
      'the longest waiter comes first, then the one created first, then the lower slot, page by page',
      withStore(open, async (store) => {
        const [first, second] = [sampleRun(1), sampleRun(2)];
        const wait = (slot: number, since: number) => ({ ...waitTask(slot, T0 + 900, ['paid']), createdAt: since });
        await apply(store, [
          creation(first),
          creation(second),
          ...putTasks(second.key, [wait(4, T0 + 9), wait(3, T0), wait(1, T0 + 5)]),
          ...putTasks(first.key, [wait(2, T0 + 5), wait(1, T0 + 5), waitTask(5, T0, ['other'])]),
        ]);
        const expected = ['wfr_2/3', 'wfr_1/1', 'wfr_1/2', 'wfr_2/1', 'wfr_2/4'];
        for (const limit of [1, 2, 4, 5, 100]) {
          const foundWaiters: WaiterRecord[] = [];
          for (;;) {
            const after = foundWaiters.at(-1) ?? null;
            const page = await store.listWaiters({ instanceId: INSTANCE, eventId: 'paid', after, limit });
            assert.ok(page.length <= limit);
            if (page.length === 0) break;
            foundWaiters.push(...page);
          }
          assert.deepEqual(slotNamesOf(foundWaiters), expected, `${limit} a page`);
        }
      }),
    );

    test(
      'all waits of an instance are listed by event and then by the longest waiter, page by page, even after one that is gone',
      withStore(open, async (store) => {
        const [first, second, foreignRun] = [sampleRun(1), sampleRun(2), sampleRun(3, { instanceId: OTHER_INSTANCE })];
        const wait = (slot: number, since: number, events: readonly string[]) => ({
          ...waitTask(slot, T0 + 900, events),
          createdAt: since,
        });
        await apply(store, [
          creation(first),
          creation(second),
          creation(foreignRun),
          ...putTasks(second.key, [wait(1, T0 + 5, ['b', 'ä']), wait(2, T0, ['B'])]),
          ...putTasks(first.key, [wait(1, T0 + 9, ['b']), wait(3, T0 + 5, ['b'])]),
          ...putTasks(foreignRun.key, [wait(1, T0, ['b'])]),
        ]);
        const expected = ['B wfr_2/2', 'b wfr_1/3', 'b wfr_2/1', 'b wfr_1/1', 'ä wfr_2/1'];
        const page = (after: WaiterRecord | null, limit: number) =>
          store.listWaiters({ instanceId: INSTANCE, eventId: null, after, limit });
        const namesOf = (foundWaiters: readonly WaiterRecord[]) =>
          foundWaiters.map(({ eventId, workflowRunId, slot }) => `${eventId} ${workflowRunId}/${slot}`);
        for (const limit of [1, 2, 5, 100]) {
          const foundWaiters: WaiterRecord[] = [];
          for (;;) {
            const nextPage = await page(foundWaiters.at(-1) ?? null, limit);
            assert.ok(nextPage.length <= limit);
            if (nextPage.length === 0) break;
            foundWaiters.push(...nextPage);
          }
          assert.deepEqual(namesOf(foundWaiters), expected, `${limit} a page`);
        }
        const [, , third = null] = await page(null, 3);
        assert.deepEqual(await waiters(store, 'ä'), [(await page(null, 9))[4]]);
        await apply(store, [{ kind: 'delete-task', runKey: second.key, slot: 1 }]);
        assert.deepEqual(namesOf(await page(third, 9)), ['b wfr_1/1']);
        assert.deepEqual(await store.listWaiters({ instanceId: 'qi_none', eventId: null, after: null, limit: 9 }), []);
      }),
    );

    test(
      'a page continues after a waiter that no longer waits',
      withStore(open, async (store) => {
        await apply(store, [
          creation(run),
          ...putTasks(
            runKey,
            [1, 2, 3].map((slot) => waitTask(slot, T0, ['paid'])),
          ),
        ]);
        const after = (await waiters(store, 'paid'))[1];
        assert.ok(after);
        await apply(store, [{ kind: 'delete-task', runKey, slot: after.slot }]);
        const remainingWaiters = await store.listWaiters({ instanceId: INSTANCE, eventId: 'paid', after, limit: 9 });
        assert.deepEqual(slotNamesOf(remainingWaiters), ['wfr_1/3']);
      }),
    );

    test(
      'a wait that is written again waits only for its new events',
      withStore(open, async (store) => {
        await apply(store, [creation(run), ...putTasks(runKey, [waitTask(1, T0, ['a', 'b']), waitTask(2, T0, ['a'])])]);
        await apply(store, putTasks(runKey, [waitTask(1, T0 + 5, ['b', 'c'])]));
        assert.deepEqual(await slotsOf(store, 'a'), [2]);
        assert.deepEqual(await slotsOf(store, 'b'), [1]);
        assert.deepEqual(await slotsOf(store, 'c'), [1]);
        await apply(store, putTasks(runKey, [sleepTask(1, T0, T0)]));
        assert.deepEqual(await slotsOf(store, 'b'), []);
        assert.deepEqual(await slotsOf(store, 'a'), [2]);
      }),
    );

    test(
      'changes of other slots and other runs do not affect a wait',
      withStore(open, async (store) => {
        const otherRun = sampleRun(2);
        await apply(store, [
          creation(run),
          creation(otherRun),
          ...putTasks(runKey, [waitTask(2, T0, ['paid']), stepTask(3, T0)]),
        ]);
        await apply(store, [
          { kind: 'delete-task', runKey, slot: 3 },
          ...putTasks(otherRun.key, [stepTask(2, T0)]),
          { kind: 'delete-task', runKey: otherRun.key, slot: 2 },
          { kind: 'park-tasks', runKey: otherRun.key },
          { kind: 'delete-tasks', runKey: otherRun.key },
        ]);
        assert.deepEqual(slotNamesOf(await waiters(store, 'paid')), ['wfr_1/2']);
      }),
    );

    for (const isReopened of [false, true]) {
      const when = isReopened ? ', even when the store was opened in between' : '';
      for (const kind of ['park-tasks', 'delete-tasks'] as const) {
        test(
          `${kind === 'park-tasks' ? 'a parked' : 'a deleted'} wait no longer waits${when}`,
          withStore(open, async (first, underTest) => {
            const otherRun = sampleRun(2);
            await apply(first, [
              creation(run),
              creation(otherRun),
              ...putTasks(runKey, [waitTask(1, T0, ['paid']), waitTask(2, T0, ['paid'])]),
              ...putTasks(otherRun.key, [waitTask(1, T0, ['paid'])]),
            ]);
            const store = isReopened ? await underTest.reopen() : first;
            await apply(store, [{ kind, runKey }]);
            assert.deepEqual(slotNamesOf(await waiters(store, 'paid')), ['wfr_2/1']);
            await apply(store, putTasks(runKey, [waitTask(2, T0, ['paid'])]));
            assert.deepEqual(slotNamesOf(await waiters(store, 'paid')), ['wfr_1/2', 'wfr_2/1']);
          }),
        );
      }
    }

    test(
      'a wait that is written as parked does not wait until it is written again as due',
      withStore(open, async (store) => {
        await apply(store, [creation(run), ...putTasks(runKey, [waitTask(1, null, ['paid']), waitTask(2, T0, ['paid'])])]);
        assert.deepEqual(await slotsOf(store, 'paid'), [2]);
        await apply(store, putTasks(runKey, [waitTask(1, T0, ['paid']), waitTask(2, null, ['paid'])]));
        assert.deepEqual(await slotsOf(store, 'paid'), [1]);
      }),
    );

    test(
      'a rejected batch does not change the waiters',
      withStore(open, async (store) => {
        await apply(store, [creation(run), ...putTasks(runKey, [waitTask(1, T0, ['paid'])])]);
        const fault = { kind: 'record-step', runKey: 'no such run', step: sampleStep(0) } as const;
        const rejectedWrites = [
          ...putTasks(runKey, [waitTask(2, T0, ['paid'])]),
          { kind: 'delete-task', runKey, slot: 1 },
          fault,
        ] as const;
        await assert.rejects(store.commit([{ guards: [], writes: rejectedWrites }]));
        assert.deepEqual(await slotsOf(store, 'paid'), [1]);
        await apply(store, [{ kind: 'delete-task', runKey, slot: 1 }]);
        assert.deepEqual(await slotsOf(store, 'paid'), []);
      }),
    );
  });

  describe('events that arrive early', () => {
    test(
      'are kept in the order of their arrival, each with its content, even after a restart',
      withStore(open, async (store, underTest) => {
        const request = {
          ...keptEvent(2, 'whk_1'),
          content: {
            kind: 'request',
            method: 'PUT',
            query: '?a=b',
            headers: { 'x-a': ['1', '2'] },
            body: { encoding: 'base64', data: 'AP8=' },
          },
        } as const;
        const events = [keptEvent(9), request, keptEvent(1)];
        await apply(store, [creation(run), creation(sampleRun(2))]);
        for (const event of events) {
          await apply(store, [
            { kind: 'keep-event', runKey, event },
            { kind: 'keep-event', runKey: sampleRun(2).key, event: keptEvent(50) },
          ]);
        }
        assert.deepEqual(await store.loadRun({ runKey }), { ...run, keptEvents: events });
        const reopened = await underTest.reopen();
        assert.deepEqual((await reopened.loadRun({ runKey }))?.keptEvents, events);
        assert.deepEqual(
          (await fullHistory(reopened, { runKey }))?.keptEvents,
          events.map(({ eventKey, eventId, receivedAt }) => ({ eventKey, eventId, receivedAt })),
        );
      }),
    );

    test(
      'are removed one by one, of their own run only',
      withStore(open, async (store) => {
        const otherRun = sampleRun(2);
        await apply(store, [creation(run), creation(otherRun)]);
        for (const key of [runKey, otherRun.key]) {
          await apply(
            store,
            [1, 2, 3].map((n) => ({ kind: 'keep-event', runKey: key, event: keptEvent(n) })),
          );
        }
        await apply(store, [{ kind: 'drop-event', runKey, eventKey: 'evt_2' }]);
        assert.deepEqual((await store.loadRun({ runKey }))?.keptEvents, [keptEvent(1), keptEvent(3)]);
        await apply(store, [
          { kind: 'drop-event', runKey, eventKey: 'evt_1' },
          { kind: 'drop-event', runKey, eventKey: 'evt_3' },
        ]);
        assert.deepEqual((await store.loadRun({ runKey }))?.keptEvents, []);
        assert.equal((await store.loadRun({ runKey: otherRun.key }))?.keptEvents.length, 3);
      }),
    );
  });

  describe('webhooks', () => {
    test(
      'belong to the run whose step created them',
      withStore(open, async (store) => {
        const otherRun = sampleRun(2);
        const outcome = (eventId: string) => JSON.stringify({ eventId, webhookUrl: `http://svc.example/v2/webhooks/${eventId}` });
        await apply(store, [
          creation(run),
          creation(otherRun),
          { kind: 'record-step', runKey, step: sampleStep(0, { type: 'CreateWebhook', out: outcome('whk_1') }) },
          { kind: 'record-step', runKey, step: sampleStep(1, { out: outcome('whk_2') }) },
          { kind: 'record-step', runKey, step: sampleStep(2, { type: 'CreateWebhook', out: null }) },
          { kind: 'record-step', runKey, step: sampleStep(3, { type: 'CreateWebhook', out: '"whk_3"' }) },
          { kind: 'record-step', runKey, step: sampleStep(4, { type: 'CreateWebhook', out: outcome('whk_4') }) },
          { kind: 'record-step', runKey: otherRun.key, step: sampleStep(0, { type: 'CreateWebhook', out: outcome('whk_5') }) },
        ]);
        const webhookIds: string[] = [];
        for (const eventId of ['whk_1', 'whk_2', 'whk_3', 'whk_4', 'whk_5', 'whk_', '']) {
          if (await store.hasWebhook({ runKey, eventId })) webhookIds.push(eventId);
        }
        assert.deepEqual(webhookIds, ['whk_1', 'whk_4']);
        assert.equal(await store.hasWebhook({ runKey: otherRun.key, eventId: 'whk_5' }), true);
        assert.equal(await store.hasWebhook({ runKey: 'no such run', eventId: 'whk_1' }), false);
      }),
    );

    test(
      'exist as long as the run, however it ends',
      withStore(open, async (store) => {
        const step = sampleStep(0, { type: 'CreateWebhook', out: '{"eventId":"whk_1"}' });
        const [endedRun, copiedRun] = [sampleRun(3), sampleRun(4)];
        await apply(store, [
          creation(endedRun),
          creation(copiedRun),
          { kind: 'record-step', runKey: endedRun.key, step },
          { kind: 'copy-journal', fromRunKey: endedRun.key, toRunKey: copiedRun.key },
          { kind: 'end-run', runKey: endedRun.key, outcome: { status: 'canceled' }, completedAt: T0 },
        ]);
        assert.equal(await store.hasWebhook({ runKey: endedRun.key, eventId: 'whk_1' }), true);
        assert.equal(await store.hasWebhook({ runKey: copiedRun.key, eventId: 'whk_1' }), true);
      }),
    );
  });
}
