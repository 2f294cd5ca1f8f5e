import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import type { RecordedStep } from '../../engine/runs/run.js';
import { withFullResult } from '../../ports/stores/history-parts.js';
import type { Part, StoreWrite } from '../../ports/stores/store.js';
import { type OpenStore, withStore } from './harness.js';
import {
  advanceTask,
  apply,
  callTask,
  creation,
  failure,
  INSTANCE,
  invokeTask,
  OTHER_INSTANCE,
  PAYLOAD,
  putTasks,
  sampleAttempt,
  sampleDeadLetter,
  sampleRun,
  sampleStep,
  sleepTask,
  T0,
} from './samples.js';

const RUN = sampleRun(1);
const runKey = RUN.key;
const WIDE_BOUNDS = { maxRows: 100, maxBytes: LIMITS.partBytes };

const recordSteps = (outs: readonly (string | null)[]): readonly StoreWrite[] =>
  outs.map((out, index) => ({ kind: 'record-step', runKey, step: sampleStep(index, { out }) }));

/** Reads a whole list in parts. Returns it with the number of parts. */
async function readInParts<Item>(read: (from: string | null) => Promise<Part<Item>>): Promise<{ items: Item[]; parts: number }> {
  const items: Item[] = [];
  let from: string | null = null;
  let parts = 0;
  do {
    const part: Part<Item> = await read(from);
    items.push(...part.items);
    from = part.next;
    parts++;
  } while (from !== null);
  return { items, parts };
}

export function historyConformance(open: OpenStore): void {
  describe('long histories', () => {
    test(
      'a part of a journal ends at its maximum of rows or bytes, and the next one continues after it',
      withStore(open, async (store) => {
        await apply(store, [
          creation(RUN),
          ...recordSteps(Array.from({ length: 9 }, (_, n) => JSON.stringify('x'.repeat(n * 100)))),
        ]);
        const read = (bounds: { maxRows: number; maxBytes: number }, below?: number) =>
          readInParts((from) =>
            store.listSteps({
              runKey,
              bounds,
              maxOutBytes: 10_000,
              from: from ?? '0',
              ...(below === undefined ? {} : { below }),
            }),
          );
        const journal = await store.loadJournal({ runKey, from: 0 });
        assert.deepEqual(await read({ maxRows: 4, maxBytes: 100_000 }), { items: [...journal], parts: 3 });
        assert.deepEqual((await read({ maxRows: 100, maxBytes: 1 })).parts, 9, 'a part has at least one row');
        assert.ok((await read({ maxRows: 100, maxBytes: 2_500 })).parts > 1);
        assert.deepEqual((await read({ maxRows: 4, maxBytes: 100_000 }, 5)).items, journal.slice(0, 5));
        const stepsInPieces: RecordedStep[] = [];
        while (stepsInPieces.length < journal.length) {
          const piece = await store.loadJournal({ runKey, from: stepsInPieces.length, maxBytes: 1 });
          assert.ok(piece.length > 0);
          stepsInPieces.push(...piece);
        }
        assert.deepEqual(stepsInPieces, journal);
      }),
    );

    test(
      'a result longer than the requested maximum is omitted, with its length',
      withStore(open, async (store) => {
        const longOut = JSON.stringify('é'.repeat(600));
        await apply(store, [creation(RUN), ...recordSteps(['1', longOut, null])]);
        const { items } = await store.listSteps({ runKey, bounds: WIDE_BOUNDS, maxOutBytes: 1_000, from: '0' });
        assert.deepEqual(
          items.map(({ out, outLeftOut }) => [out, outLeftOut]),
          [
            ['1', undefined],
            [null, 1_202],
            [null, undefined],
          ],
        );
        assert.deepEqual(await store.journalSize({ runKey }), {
          steps: 3,
          bytes: 1_203 + 3 * 'step 0'.length,
          longestOutBytes: 1_202,
        });
        const shortenedStep = await store.findStep({ runKey, stepId: 2, maxOutBytes: 10 });
        assert.deepEqual([shortenedStep?.out, shortenedStep?.outLeftOut], [null, 1_202]);
        const completeStep = await store.findStep({ runKey, stepId: 2, maxOutBytes: 2_000 });
        assert.deepEqual([completeStep?.out, completeStep && 'outLeftOut' in completeStep], [longOut, false]);
        assert.equal(await store.findStep({ runKey, stepId: 4, maxOutBytes: 10 }), null);
        assert.deepEqual(await store.journalSize({ runKey: 'unknown' }), { steps: 0, bytes: 0, longestOutBytes: 0 });
      }),
    );

    test(
      'tasks and attempts are read in parts, including the attempts of a single slot',
      withStore(open, async (store) => {
        const attempts = [3, 2, 1, 0].map((n) => ({ ...sampleAttempt(n), slot: n % 2 === 0 ? 1 : -1 }));
        const tasks = [advanceTask(T0), ...[1, 2, 3].map((slot) => sleepTask(slot, T0, T0))];
        await apply(store, [
          creation(RUN),
          ...putTasks(runKey, tasks),
          ...attempts.map((attempt) => ({ kind: 'record-attempt', runKey, attempt }) as const),
        ]);
        const bounds = { maxRows: 3, maxBytes: LIMITS.partBytes };
        assert.deepEqual(await readInParts((from) => store.listTasks({ runKey, bounds, from })), { items: tasks, parts: 2 });
        assert.deepEqual(await readInParts((from) => store.listAttempts({ runKey, bounds, from })), {
          items: attempts,
          parts: 2,
        });
        const slotPage = await store.listAttempts({ runKey, bounds, from: null, slot: -1 });
        assert.deepEqual([slotPage.items, slotPage.next], [attempts.filter(({ slot }) => slot === -1), null]);
      }),
    );

    test(
      'the first tasks of several runs are read at once, without long bodies',
      withStore(open, async (store) => {
        const otherRuns = [sampleRun(2), sampleRun(3)];
        const call = callTask(1, T0, { body: { encoding: 'utf8', data: 'x'.repeat(LIMITS.maxInlineBytes) } });
        await apply(store, [creation(RUN), ...otherRuns.map((run) => creation(run))]);
        await apply(store, [
          ...putTasks(
            runKey,
            [3, 1, 2].map((slot) => sleepTask(slot, T0, T0)),
          ),
          ...putTasks(otherRuns[0]?.key ?? '', [call]),
        ]);
        const runKeys = [runKey, ...otherRuns.map(({ key }) => key), 'unknown'];
        const tasks = await store.firstTasks({ instanceId: INSTANCE, runKeys, limit: 2 });
        assert.deepEqual(tasks.get(runKey), [sleepTask(1, T0, T0), sleepTask(2, T0, T0)]);
        const [strippedTask] = tasks.get(otherRuns[0]?.key ?? '') ?? [];
        assert.ok(
          strippedTask?.kind === 'call' && strippedTask.call.body === undefined && strippedTask.bodyLeftOut !== undefined,
        );
        assert.deepEqual([tasks.get(otherRuns[1]?.key ?? ''), tasks.get('unknown')], [[], []]);
        assert.deepEqual(await store.firstTasks({ instanceId: INSTANCE, runKeys: [], limit: 2 }), new Map());
      }),
    );

    test(
      'a long body of a call or an invocation is omitted',
      withStore(open, async (store) => {
        const body = { encoding: 'utf8', data: 'x'.repeat(LIMITS.maxInlineBytes) } as const;
        const call = callTask(1, T0, { body });
        const invoke = invokeTask(2, T0, 'KEY', { workflowUrl: 'http://app.example/child', headers: { 'x-a': 'b' }, body });
        await apply(store, [creation(RUN), ...putTasks(runKey, [call, invoke, callTask(3, T0)])]);
        const { items } = await store.listTasks({ runKey, bounds: WIDE_BOUNDS, from: null });
        const [first, second, third] = items;
        const { body: _call, ...callWithoutBody } = call.call;
        const { body: _invoke, ...invokeWithoutBody } = invoke.invoke ?? assert.fail();
        assert.ok((first?.bodyLeftOut ?? 0) > LIMITS.maxInlineBytes && (second?.bodyLeftOut ?? 0) > LIMITS.maxInlineBytes);
        assert.deepEqual(first, { ...call, call: callWithoutBody, bodyLeftOut: first?.bodyLeftOut });
        assert.deepEqual(second, { ...invoke, invoke: invokeWithoutBody, bodyLeftOut: second?.bodyLeftOut });
        assert.deepEqual(third, callTask(3, T0));
      }),
    );

    test(
      'a history has the first part of each list and says where they continue',
      withStore(open, async (store) => {
        await apply(store, [
          creation(RUN),
          ...recordSteps(['1', '2', '3']),
          ...putTasks(runKey, [advanceTask(T0), sleepTask(9, T0, T0)]),
          { kind: 'record-attempt', runKey, attempt: sampleAttempt(0) },
        ]);
        const history = await store.runHistory({ runKey, bounds: { maxRows: 1, maxBytes: 1_000 }, maxOutBytes: 10 });
        assert.deepEqual(
          [history?.journalLength, history?.steps.length, history?.tasks.length, history?.attempts.length],
          [3, 1, 1, 1],
        );
        assert.deepEqual([history?.next.steps, history?.next.tasks, history?.next.attempts], ['1', '9', null]);
      }),
    );

    test(
      'a long result of a run is omitted from its record, and read separately',
      withStore(open, async (store) => {
        const result = JSON.stringify('x'.repeat(LIMITS.maxInlineBytes));
        await apply(store, [
          creation(RUN),
          { kind: 'end-run', runKey, outcome: { status: 'succeeded', result }, completedAt: T0 },
        ]);
        const record = await store.findRun({ runKey });
        assert.ok(record);
        assert.deepEqual(record.result, { omittedBytes: result.length });
        assert.deepEqual(await withFullResult(store, record), { ...record, result });
        assert.equal(await withFullResult(store, { ...record, key: 'removed' }), null);
        assert.equal(await store.loadResult({ runKey: 'unknown' }), null);
        const page = { instanceId: INSTANCE, filter: {}, order: 'newest-first', after: null, horizon: null, limit: 5 } as const;
        const { items } = await store.listRuns(page);
        assert.deepEqual(items[0]?.result, { omittedBytes: result.length });
        assert.deepEqual((await store.listRuns({ ...page, after: items[0]?.position ?? '' })).items, []);
      }),
    );

    test(
      'sizes of a payload and of the bodies of dead letters are known without reading them',
      withStore(open, async (store) => {
        const otherRun = sampleRun(2, { instanceId: OTHER_INSTANCE });
        const entry = sampleDeadLetter(RUN);
        await apply(store, [creation(RUN), ...failure(RUN, entry), creation(otherRun), ...failure(otherRun)]);
        const { body, ...headers } = PAYLOAD;
        assert.deepEqual(await store.payloadHead({ runKey }), { ...headers, bodyBytes: body.length });
        assert.equal(await store.payloadHead({ runKey: 'unknown' }), null);
        const dlqIds = [entry.dlqId, `dlq_${otherRun.key}`, 'unknown'];
        const bodies = await store.loadDeadLetterBodies({ instanceId: INSTANCE, dlqIds });
        assert.deepEqual([...bodies], [[entry.dlqId, { body, responseBody: entry.responseBody, failedBy: entry.failedBy }]]);
      }),
    );
  });
}
