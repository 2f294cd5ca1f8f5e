/** Waits, notifications, webhooks, calls and invocations, driven on a real store in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventContent, PlannedStep, StepReply } from '@everstep/sdk/protocol';
import type { MessageOutcome } from '../../ports/message-sender.js';
import type { StepCall } from '../../ports/step-caller.js';
import { fullHistory } from '../../stores/conformance/samples.js';
import {
  type Bench,
  endOf,
  letterOf,
  progress,
  ScriptedCaller,
  ScriptedSender,
  SETTINGS,
  settle,
  withRuntime,
} from '../runtime.fixture.js';

const INSTANCE = 'qi_1';
const data = (text: string): EventContent => ({ kind: 'data', body: { encoding: 'utf8', data: text } });

/** Returns a workflow that plans these steps at once and returns their results, as JSON texts, in the order of the journal. */
const asking =
  (...steps: readonly PlannedStep[]) =>
  ({ request }: StepCall): StepReply => {
    const { entries, length } = request.journal;
    if (length < steps.length) return progress(request, { planned: steps.slice(request.known - 1) });
    return progress(request, {
      end: { kind: 'finished', result: JSON.stringify(entries.map(({ out }) => JSON.parse(out ?? 'null'))) },
    });
  };
const wait = (stepId: number, eventId: string, timeoutMs = 10_000): PlannedStep => ({
  stepId,
  name: `w${stepId}`,
  type: 'Wait',
  eventIds: [eventId],
  timeoutMs,
});
const notify = (bench: Bench, eventId: string, text = '', workflowRunId: string | null = null) =>
  bench.runtime.events.notify({ instanceId: INSTANCE, eventId, workflowRunId, content: data(text) });

async function resultOf(bench: Bench, run: Parameters<typeof endOf>[1]): Promise<unknown> {
  const record = await endOf(bench, run);
  assert.equal(record?.status, 'succeeded', record?.error ?? 'it has not ended');
  return JSON.parse(record?.result ?? 'null');
}

test('notifies each run that waits for an event once, with its data', async () => {
  await withRuntime(new ScriptedCaller(asking(wait(1, 'paid'))), async (bench) => {
    const started = await Promise.all([bench.trigger(), bench.trigger(), bench.trigger()]);
    await settle();
    const outcome = await notify(bench, 'paid', 'yes');
    assert.ok(outcome.kind === 'notified');
    assert.deepEqual(
      outcome.notified.map(({ waiter }) => waiter.workflowRunId).sort(),
      started.map(({ run }) => run.workflowRunId).sort(),
    );
    for (const { run } of started) {
      assert.deepEqual(await resultOf(bench, run), [{ timeout: false, eventId: 'paid', content: data('yes') }]);
    }
    assert.deepEqual(await notify(bench, 'paid'), { kind: 'notified', notified: [] });
  });
});

test('a wait times out at its deadline', async () => {
  await withRuntime(new ScriptedCaller(asking(wait(1, 'paid', 60_000))), async (bench) => {
    const { run } = await bench.trigger();
    await settle();
    bench.clock.move(59_999);
    await settle();
    assert.equal(await bench.store.nextDueAt({ after: 0 }), run.createdAt + 60_000);
    bench.clock.move(1);
    await settle();
    assert.deepEqual(await resultOf(bench, run), [{ timeout: true }]);
  });
});

test('keeps an event for a named run until that run waits for it', async () => {
  let open: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const caller = new ScriptedCaller(async (call) => {
    await gate;
    return asking(wait(1, 'paid'))(call);
  });
  await withRuntime(caller, async (bench) => {
    const { run } = await bench.trigger();
    await settle();
    const kept = await notify(bench, 'paid', 'early', run.workflowRunId);
    assert.equal(kept.kind, 'kept');
    open();
    await settle();
    assert.deepEqual(await resultOf(bench, run), [{ timeout: false, eventId: 'paid', content: data('early') }]);
    assert.equal((await notify(bench, 'paid', '', run.workflowRunId)).kind, 'run-not-active');
    assert.equal((await notify(bench, 'paid', '', 'no-such-run')).kind, 'run-not-found');
  });
});

test('each of a thousand waits that are notified as they time out has exactly one end', async () => {
  await withRuntime(new ScriptedCaller(asking(wait(1, 'paid', 60_000))), async (bench) => {
    const started = await Promise.all(Array.from({ length: 1000 }, () => bench.trigger()));
    const waiting = async () =>
      (await bench.store.listWaiters({ instanceId: INSTANCE, eventId: 'paid', after: null, limit: 1000 })).length;
    // Time passes, because a burst of triggers is acknowledged before its runs start.
    while ((await waiting()) < 1000) {
      bench.clock.move(20);
      await settle();
    }
    bench.clock.move(60_000);
    const outcome = await notify(bench, 'paid', 'x');
    assert.ok(outcome.kind === 'notified');
    const notified = new Set(outcome.notified.map(({ waiter }) => waiter.workflowRunId));
    let timeouts = 0;
    for (const { run } of started) {
      const record = await endOf(bench, run);
      const [{ timeout }] = JSON.parse(record?.result ?? '[{}]');
      if (timeout) timeouts++;
      assert.equal(timeout, !notified.has(run.workflowRunId));
    }
    assert.equal(notified.size + timeouts, 1000);
  });
});

test('a webhook accepts any request for its run, before and while the run waits for it', async () => {
  const hook: PlannedStep = { stepId: 1, name: 'hook', type: 'CreateWebhook' };
  let eventId = '';
  const caller = new ScriptedCaller(({ request }) => {
    const { entries, length } = request.journal;
    if (length === 0) return progress(request, { planned: [hook] });
    eventId = JSON.parse(entries[0]?.out ?? '{}').eventId;
    if (length === 1) return progress(request, { planned: [{ ...wait(2, eventId), type: 'WaitForWebhook' } as PlannedStep] });
    return progress(request, { end: { kind: 'finished', result: entries[1]?.out ?? 'null' } });
  });
  await withRuntime(caller, async (bench) => {
    const { run } = await bench.trigger();
    await settle();
    const content: EventContent = {
      kind: 'request',
      method: 'PUT',
      query: '?a=1',
      headers: { 'x-a': ['b'] },
      body: { encoding: 'utf8', data: 'hi' },
    };
    assert.equal(await bench.runtime.events.callWebhook({ eventId: `whk_guess.${run.runKey}`, content }), 'not-found');
    assert.equal(await bench.runtime.events.callWebhook({ eventId, content }), 'taken');
    await settle();
    assert.deepEqual(await resultOf(bench, run), { timeout: false, eventId, content });
    assert.equal(await bench.runtime.events.callWebhook({ eventId, content }), 'not-found');
  });
});

test('a webhook continues with the run that resumed its run', async () => {
  const hook: PlannedStep = { stepId: 1, name: 'hook', type: 'CreateWebhook' };
  let eventId = '';
  let broken = true;
  const caller = new ScriptedCaller(({ request }): StepReply => {
    const { entries, length } = request.journal;
    if (length === 0) return progress(request, { planned: [hook] });
    eventId = JSON.parse(entries[0]?.out ?? '{}').eventId;
    const head = { protocol: 1, base: length, done: [] } as const;
    if (request.target === 3 && broken) {
      return {
        ...head,
        kind: 'failed',
        step: { stepId: 3, name: 's3', type: 'Run' },
        error: { name: 'E', message: 'm' },
        retry: { kind: 'never' },
      };
    }
    if (request.target === 3) return progress(request, { done: [{ stepId: 3, name: 's3', type: 'Run' }], advanced: false });
    if (request.known === 2) {
      const planned: PlannedStep[] = [
        { ...wait(2, eventId), type: 'WaitForWebhook' } as PlannedStep,
        { stepId: 3, name: 's3', type: 'Run' },
      ];
      return progress(request, { planned });
    }
    return length === 3 ? progress(request, { end: { kind: 'finished', result: '"both"' } }) : progress(request, {});
  });
  await withRuntime(caller, async (bench) => {
    const { run } = await bench.trigger();
    await settle();
    const { dlqId } = await letterOf(bench);
    broken = false;
    const resumed = await bench.runtime.deadLetters.recover({
      kind: 'resume',
      instanceId: INSTANCE,
      dlqIds: [dlqId],
      onMissing: 'fail',
      overrides: {},
    });
    assert.ok(resumed.kind === 'recovered');
    await settle();
    const content: EventContent = {
      kind: 'request',
      method: 'POST',
      query: '',
      headers: {},
      body: { encoding: 'utf8', data: '' },
    };
    assert.ok(eventId.endsWith(run.runKey));
    assert.equal(await bench.runtime.events.callWebhook({ eventId, content }), 'taken');
    bench.clock.move(1000);
    await settle();
    const [again] = resumed.runs;
    assert.ok(again);
    assert.equal(await resultOf(bench, again), 'both');
  });
});

test('a notify step notifies runs and records which ones', async () => {
  const waiter = asking(wait(1, 'paid'));
  const teller = asking({
    stepId: 1,
    name: 'tell',
    type: 'Notify',
    eventId: 'paid',
    content: { kind: 'data', body: { encoding: 'utf8', data: 'it' } },
  });
  const caller = new ScriptedCaller((call) => (call.workflowUrl === 'http://app/teller' ? teller(call) : waiter(call)));
  await withRuntime(caller, async (bench) => {
    const waiting = await bench.trigger();
    await settle();
    const telling = await bench.trigger({ workflowUrl: 'http://app/teller' });
    await settle();
    const [outcome] = (await resultOf(bench, telling.run)) as { notified: { workflowRunId: string }[] }[];
    assert.deepEqual(
      outcome?.notified.map(({ workflowRunId }) => workflowRunId),
      [waiting.run.workflowRunId],
    );
    assert.equal((await endOf(bench, waiting.run))?.status, 'succeeded');
  });
});

const call = (more: object = {}): PlannedStep => ({
  stepId: 1,
  name: 'c',
  type: 'Call',
  call: { url: 'https://api.test/x', method: 'POST', headers: { 'x-key': '1' }, body: { encoding: 'utf8', data: 'in' }, ...more },
});
const ok = (body: string): MessageOutcome => ({
  kind: 'response',
  status: 200,
  headers: { 'x-r': ['1', '2'] },
  body: Buffer.from(body),
});

test('sends a call to another origin without a signature; its response is the result', async () => {
  const sender = new ScriptedSender(() => ok('out'));
  await withRuntime(
    new ScriptedCaller(asking(call())),
    async (bench) => {
      const { run } = await bench.trigger();
      await settle();
      assert.deepEqual(await resultOf(bench, run), [
        { status: 200, headers: { 'x-r': ['1', '2'] }, body: { encoding: 'utf8', data: 'out' }, attempts: 1 },
      ]);
      const [sent] = sender.sent;
      assert.deepEqual(
        [sent?.method, sent?.url, sent?.signed, Buffer.from(sent?.body ?? '').toString()],
        ['POST', 'https://api.test/x', null, 'in'],
      );
    },
    { sender },
  );
});

test('retries a failed call after its own delay; its last response is the result', async () => {
  const sender = new ScriptedSender(() => ({ kind: 'response', status: 500, headers: {}, body: Buffer.from('no') }));
  await withRuntime(
    new ScriptedCaller(asking(call({ retries: 2, retryDelay: '5000' }))),
    async (bench) => {
      const { run } = await bench.trigger();
      for (const attempts of [1, 2, 3]) {
        await settle();
        assert.equal(sender.sent.length, attempts);
        bench.clock.move(5000);
      }
      await settle();
      const [outcome] = (await resultOf(bench, run)) as { status: number; attempts: number }[];
      assert.deepEqual([outcome?.status, outcome?.attempts], [500, 3]);
    },
    { sender },
  );
});

const invoke = (more: object = {}): PlannedStep => ({
  stepId: 1,
  name: 'i',
  type: 'Invoke',
  invoke: { workflowUrl: 'http://app/child', headers: { 'x-h': '1' }, body: { encoding: 'utf8', data: '{"n":2}' }, ...more },
});

/** Returns a parent that invokes once, and a child that the test controls. */
const family = (child: (call: StepCall) => StepReply | Promise<StepReply>, step = invoke()) => {
  const parent = asking(step);
  return new ScriptedCaller((call) => (call.workflowUrl === 'http://app/child' ? child(call) : parent(call)));
};

test('an invoked run receives its payload, and its end is the result', async () => {
  const caller = family(({ request }) =>
    progress(request, { end: { kind: 'finished', result: JSON.stringify(request.input?.body.data) } }),
  );
  await withRuntime(caller, async (bench) => {
    const { run } = await bench.trigger();
    await settle();
    const [outcome] = (await resultOf(bench, run)) as { state: string; result: string; workflowRunId: string }[];
    assert.deepEqual([outcome?.state, JSON.parse(outcome?.result ?? '')], ['succeeded', '{"n":2}']);
    const history = await fullHistory(bench.store, { runKey: run.runKey });
    assert.deepEqual(
      history?.invoked.map(({ workflowRunId, stepId, status }) => [workflowRunId, stepId, status]),
      [[outcome?.workflowRunId, 1, 'succeeded']],
    );
    const child = await bench.store.findRun({ instanceId: INSTANCE, workflowRunId: outcome?.workflowRunId ?? '' });
    assert.deepEqual(
      [child?.origin?.kind, child?.origin?.kind === 'invoke' && child.origin.workflowRunId],
      ['invoke', run.workflowRunId],
    );
  });
});

test('the failure or cancellation of an invoked run is also a result', async () => {
  const failing = family(({ request }) => ({
    protocol: 1,
    kind: 'failed',
    base: request.journal.length,
    done: [],
    error: { name: 'Error', message: 'boom' },
    retry: { kind: 'never' },
  }));
  await withRuntime(failing, async (bench) => {
    const { run } = await bench.trigger();
    await settle();
    const [outcome] = (await resultOf(bench, run)) as { state: string; error: string }[];
    assert.equal(outcome?.state, 'failed');
    assert.match(outcome?.error ?? '', /boom/);
  });
  await withRuntime(
    family(({ request }) => progress(request, { end: { kind: 'canceled' } })),
    async (bench) => {
      const { run } = await bench.trigger();
      await settle();
      const [outcome] = (await resultOf(bench, run)) as { state: string }[];
      assert.equal(outcome?.state, 'canceled');
    },
  );
});

test('an invocation with the id of an active run fails with that reason', async () => {
  const caller = family(asking(wait(1, 'never')), invoke({ workflowRunId: 'taken' }));
  await withRuntime(caller, async (bench) => {
    await bench.trigger({ workflowUrl: 'http://app/child', workflowRunId: 'taken' });
    const { run } = await bench.trigger();
    await settle();
    const [outcome] = (await resultOf(bench, run)) as { state: string; error: string }[];
    assert.equal(outcome?.state, 'failed');
    assert.match(outcome?.error ?? '', /a run with the id taken is active/);
  });
});

test('explain returns the wait reasons of each open step', async () => {
  const nap: PlannedStep = { stepId: 2, name: 'nap', type: 'SleepFor', sleepMs: 5000 };
  await withRuntime(new ScriptedCaller(asking(wait(1, 'paid'), nap)), async (bench) => {
    const { run } = await bench.trigger();
    await settle();
    const explained = await bench.runtime.runs.explain({ instanceId: INSTANCE, workflowRunId: run.workflowRunId });
    assert.deepEqual(
      explained?.tasks.map(({ stepId, reasons }) => [stepId, reasons]),
      [
        [1, [{ kind: 'waiting-for-event', eventIds: ['paid'], until: run.createdAt + 10_000 }]],
        [2, [{ kind: 'sleeping', until: run.createdAt + 5000 }]],
      ],
    );
    assert.equal(await bench.runtime.runs.explain({ instanceId: 'qi_2', workflowRunId: run.workflowRunId }), null);
  });
});

test('explain names the type of a step that was planned only by its name', async () => {
  const planned: PlannedStep[] = [
    { stepId: 1, name: 'ask', type: 'Run', asks: 'Call' },
    { stepId: 2, name: 'work', type: 'Run' },
  ];
  const caller = new ScriptedCaller(({ request }) => {
    if (request.target === null) return progress(request, { planned });
    const step = { stepId: request.target, name: planned[request.target - 1]?.name ?? '', type: 'Run' as const };
    const error = { name: 'Error', message: 'not yet' };
    return { protocol: 1, kind: 'failed', base: request.journal.length, done: [], step, error, retry: { kind: 'backoff' } };
  });
  await withRuntime(caller, async (bench) => {
    const { run } = await bench.trigger({ settings: { ...SETTINGS, maxRetries: 1 } });
    await settle();
    const explained = await bench.runtime.runs.explain({ instanceId: INSTANCE, workflowRunId: run.workflowRunId });
    assert.deepEqual(
      explained?.tasks.map(({ stepName, stepType }) => [stepName, stepType]),
      [
        ['ask', 'Call'],
        ['work', 'Run'],
      ],
    );
  });
});

test('explain also reports the destination hold of a task that is due later', async () => {
  const failing = new ScriptedSender(() => ({
    kind: 'failure',
    failure: {
      cause: 'network',
      message: 'connection refused',
      retry: { kind: 'backoff' },
      status: null,
      responseHeaders: {},
      responseBody: new Uint8Array(),
    },
  }));
  const call: PlannedStep = {
    stepId: 1,
    name: 'ask',
    type: 'Call',
    call: { url: 'http://bank/pay', method: 'GET', headers: {}, retries: 2 },
  };
  await withRuntime(
    new ScriptedCaller(asking(call)),
    async (bench) => {
      const { run } = await bench.trigger();
      await settle();
      const kinds = async () => {
        const explained = await bench.runtime.runs.explain({ instanceId: INSTANCE, workflowRunId: run.workflowRunId });
        return explained?.tasks[0]?.reasons.map(({ kind }) => kind);
      };
      assert.deepEqual(await kinds(), ['retry']);
      await bench.runtime.destinations.hold({ instanceId: INSTANCE, origin: 'http://bank', reason: 'closed' });
      assert.deepEqual(await kinds(), ['retry', 'destination-held']);
    },
    { sender: failing },
  );
});
