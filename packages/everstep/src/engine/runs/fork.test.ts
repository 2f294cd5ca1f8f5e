import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { at, SETTINGS as FEW, startedRun, T0 } from '../engine.fixture.js';
import { type ForkDecision, type ForkRequest, forkRun } from './fork.js';
import { ADVANCE_SLOT, type RecordedStep, type Run, type RunSettings, type Task } from './run.js';

/** The runs started a minute ago. */
const STARTED_MS_AGO = 60_000;
const NOW = T0 + STARTED_MS_AGO;
const context = at(STARTED_MS_AGO);
const SETTINGS: RunSettings = { ...FEW, maxRetries: 2, retryDelay: null, labels: ['a'] };
const PAYLOAD = { body: Buffer.from('{"n":1}'), contentType: 'application/json', forwardHeaders: { 'x-a': 'b' } };

function original(more: Partial<Run> = {}, settings: Partial<RunSettings> = {}): Run {
  const run = startedRun({ ...SETTINGS, ...settings }, { payload: PAYLOAD, workflowRunId: 'order-1' });
  return { ...run, tasks: new Map(), ...more };
}

const step = (index: number, stepId: number, more: Partial<RecordedStep> = {}): RecordedStep => ({
  index,
  stepId,
  name: `s${stepId}`,
  type: 'Run',
  out: String(stepId * 10),
  messageId: `msg_${stepId}`,
  group: stepId,
  concurrent: 1,
  createdAt: NOW - 1000,
  completedAt: NOW - 500,
  sleepMs: null,
  wakeAt: null,
  ...more,
});
const row = (length: number): RecordedStep[] => Array.from({ length }, (_, index) => step(index, index + 1));
/** Returns steps planned together as 1 to 4, in recorded order. */
const group = (...stepIds: number[]): RecordedStep[] =>
  stepIds.map((stepId, index) => step(index, stepId, { group: 1, concurrent: 4 }));
const parked = (slot: number, more: object = {}): Task => ({
  kind: 'step',
  slot,
  name: `s${slot}`,
  messageId: `msg_${slot}`,
  dueAt: null,
  createdAt: NOW - 900,
  retried: 3,
  group: slot,
  concurrent: 1,
  ...more,
});

const REQUEST: ForkRequest = { fromStep: 1, input: null, results: [], workflowRunId: null, note: null };
const fork = (run: Run, journal: readonly RecordedStep[], request: Partial<ForkRequest>): ForkDecision =>
  forkRun(run, journal, PAYLOAD, { ...REQUEST, ...request }, context);

function forked(run: Run, journal: readonly RecordedStep[], request: Partial<ForkRequest>) {
  const outcome = fork(run, journal, request);
  assert.ok(outcome.kind === 'forked', outcome.kind === 'refused' ? outcome.message : '');
  const { writes } = outcome.unit;
  const copy = writes.find((write) => write.kind === 'copy-journal');
  assert.ok(copy);
  const steps = writes.flatMap((write) => (write.kind === 'record-step' ? [write.step] : []));
  return { ...outcome, copy, steps };
}

function refusal(run: Run, journal: readonly RecordedStep[], request: Partial<ForkRequest>) {
  const outcome = fork(run, journal, request);
  assert.ok(outcome.kind === 'refused');
  return outcome;
}

describe('a fork keeps', () => {
  test('the steps recorded before the step; the run has one task, which calls its code', () => {
    const was = original({ status: 'succeeded', nextStepId: 6 });
    const { run, copy, steps, unit } = forked(was, row(5), { fromStep: 3, note: 'again' });
    assert.deepEqual([copy.length, copy.without, steps], [2, [], []]);
    assert.deepEqual([run.nextStepId, run.journalLength, run.journalBytes, run.ahead], [3, 2, 4, undefined]);
    assert.deepEqual([...run.tasks.keys()], [ADVANCE_SLOT]);
    assert.equal(run.status, 'active');
    const { key: runKey, createdAt: workflowCreatedAt } = was;
    assert.deepEqual(run.origin, {
      kind: 'fork',
      runKey,
      workflowRunId: 'order-1',
      workflowCreatedAt,
      stepId: 3,
      note: 'again',
    });
    assert.deepEqual(unit.guards, [{ kind: 'run-present', runKey }]);
  });

  test('steps in recorded order: results of parallel steps before it, and none after it', () => {
    const { run, copy } = forked(original({ nextStepId: 5 }), group(2, 4, 1, 3), { fromStep: 1 });
    assert.equal(copy.length, 2);
    assert.deepEqual([run.nextStepId, run.ahead], [1, [2, 4]]);
  });

  test('all steps if the step is not recorded yet, or comes directly after the last one', () => {
    const failed = original({ nextStepId: 4, status: 'failed', tasks: new Map([[3, parked(3)]]) });
    assert.equal(forked(failed, row(2), { fromStep: 3 }).copy.length, 2);
    assert.equal(forked(original({ nextStepId: 3 }), row(2), { fromStep: 3 }).copy.length, 2);
    const beyond = refusal(original({ nextStepId: 3 }), row(2), { fromStep: 4 });
    assert.match(beyond.message, /fromStep must be .* at most 3, not 4/);
  });

  test('no step when forked from the first one: the same code runs with the same input', () => {
    const { run, copy, payload } = forked(original({ nextStepId: 3 }), row(2), { fromStep: 1 });
    assert.deepEqual([copy.length, run.nextStepId, run.journalLength], [0, 1, 0]);
    assert.equal(payload, PAYLOAD);
  });

  test('no part of a group whose code joins it, unless the whole group is kept', () => {
    const joined = original({ nextStepId: 6 }, { steps: { joined: true, introduced: false } });
    const journal = [step(0, 1), ...[2, 4, 3].map((stepId, at) => step(at + 1, stepId, { group: 2, concurrent: 3 }))];
    for (const fromStep of [2, 3, 4]) {
      const { run, copy } = forked(joined, journal, { fromStep });
      assert.deepEqual([copy.length, run.nextStepId, run.ahead], [1, 2, undefined], `from step ${fromStep}`);
    }
    assert.equal(forked(joined, journal, { fromStep: 5 }).copy.length, 4, 'the whole group is kept');
    const failed = original({ nextStepId: 5, tasks: new Map([[3, parked(3, { group: 2, concurrent: 3 })]]) }, joined.settings);
    assert.equal(forked(failed, journal.slice(0, 3), { fromStep: 3 }).copy.length, 1);
    assert.match(
      refusal(failed, journal.slice(0, 3), { fromStep: 3, results: [{ stepId: 3, out: '1' }] }).message,
      /planned together with other steps/,
    );
  });
});

describe('edited results', () => {
  test('replace those of kept steps, and are marked', () => {
    const { run, copy, steps, edited } = forked(original({ nextStepId: 6 }), row(5), {
      fromStep: 4,
      results: [{ stepId: 2, out: '{"ok":true}' }],
    });
    assert.deepEqual([copy.length, copy.without], [3, [1]]);
    assert.deepEqual(steps, [step(1, 2, { out: '{"ok":true}', edited: true })]);
    assert.deepEqual(edited, [2]);
    assert.equal(run.journalBytes, 2 + 11 + 2);
  });

  test('replace the result of the step itself, recorded or not, so that the code continues after it', () => {
    const results = [{ stepId: 3, out: '7' }];
    const recorded = forked(original({ nextStepId: 6 }), row(5), { fromStep: 3, results });
    assert.deepEqual([recorded.copy.length, recorded.run.journalLength, recorded.run.nextStepId], [2, 3, 4]);
    assert.deepEqual(recorded.steps, [step(2, 3, { out: '7', edited: true, completedAt: NOW })]);
    const failed = original({ nextStepId: 4, status: 'failed', tasks: new Map([[3, parked(3)]]) });
    const supplied = forked(failed, row(2), { fromStep: 3, results });
    assert.deepEqual(supplied.steps, [step(2, 3, { out: '7', edited: true, createdAt: NOW - 900, completedAt: NOW })]);
  });

  test('are rejected for a step that is not kept, and for one without a known name', () => {
    const later = refusal(original({ nextStepId: 6 }), row(5), { fromStep: 3, results: [{ stepId: 4, out: '1' }] });
    assert.deepEqual(later.because, 'request');
    assert.match(later.message, /step 4 .* is not kept/);
    const unknown = refusal(original({ nextStepId: 3 }), row(2), { fromStep: 3, results: [{ stepId: 3, out: '1' }] });
    assert.match(unknown.message, /has not reached it/);
  });

  const content = { kind: 'data', body: { encoding: 'utf8', data: '{}' } };
  for (const [type, good, bad] of [
    ['SleepFor', null, '1'],
    ['SleepUntil', null, 'null'],
    ['Wait', { timeout: false, eventId: 'e', content }, { timeout: false, eventId: 'e' }],
    ['WaitForWebhook', { timeout: true }, {}],
    ['Call', { status: 200, headers: {}, body: { encoding: 'utf8', data: '' }, attempts: 1 }, { status: 200 }],
    [
      'Invoke',
      { workflowRunId: 'r', workflowCreatedAt: 1, state: 'succeeded', result: '{}' },
      { workflowRunId: 'r', workflowCreatedAt: 1, state: 'succeeded', result: '{' },
    ],
    ['Notify', { notified: [], kept: false }, []],
  ] as const) {
    test(`of a ${type} step must have the form of its results`, () => {
      const journal = [step(0, 1, { type })];
      const of = (value: unknown) => ({
        fromStep: 1,
        results: [{ stepId: 1, out: value === null || typeof value === 'string' ? value : JSON.stringify(value) }],
      });
      assert.equal(forked(original({ nextStepId: 2 }), journal, of(good)).steps[0]?.type, type);
      assert.match(refusal(original({ nextStepId: 2 }), journal, of(bad)).message, new RegExp(`step 1 \\("s1"\\) is a ${type}`));
    });
  }

  test('of a notify step that the published SDK executed must have the form in which the SDK submitted it', () => {
    const run = original({ nextStepId: 2 }, { steps: { joined: true, introduced: true } });
    const request = (out: object) => ({ fromStep: 1, results: [{ stepId: 1, out: JSON.stringify(out) }] });
    const journal = [step(0, 1, { type: 'Notify' })];
    const submitted = { eventId: 'e', eventData: { n: 1 }, notifyResponse: [{ waiter: {}, messageId: 'm', error: '' }] };
    assert.equal(forked(run, journal, request(submitted)).steps[0]?.out, JSON.stringify(submitted));
    for (const invalid of [{ notified: [], kept: false }, { eventId: 'e' }, { ...submitted, notifyResponse: [1] }]) {
      assert.match(refusal(run, journal, request(invalid)).message, /is a Notify step.*"eventId".*"notifyResponse"/);
    }
  });

  test('of a webhook are rejected', () => {
    const journal = [step(0, 1, { type: 'CreateWebhook' })];
    const request = { fromStep: 1, results: [{ stepId: 1, out: '{"eventId":"a","webhookUrl":"b"}' }] };
    assert.match(refusal(original({ nextStepId: 2 }), journal, request).message, /cannot be supplied/);
  });
});

test('an edited input replaces the old one, with its content type unless another is given, and the run is marked', () => {
  const body = Buffer.from('{"n":2}');
  const { payload, run, unit } = forked(original({ nextStepId: 3 }), row(2), { fromStep: 2, input: { body } });
  assert.deepEqual(payload, { ...PAYLOAD, body });
  assert.ok(run.origin?.kind === 'fork' && run.origin.input === 'edited');
  assert.ok(unit.writes.some((write) => write.kind === 'create-run' && write.input === payload));
  assert.equal(forked(original(), [], { input: { body, contentType: 'text/plain' } }).payload.contentType, 'text/plain');
});

test('a fork of an invoked run does not report to the invoking run, and counts as a started run', () => {
  const origin = {
    kind: 'invoke',
    runKey: 'k',
    workflowRunId: 'parent',
    workflowCreatedAt: 1,
    stepId: 1,
    stepName: 'child',
    depth: 3,
  } as const;
  const { run, unit } = forked(original({ nextStepId: 3, origin }), row(2), { fromStep: 2 });
  assert.equal(run.origin?.kind, 'fork');
  assert.ok(unit.writes.some((write) => write.kind === 'count-of-day' && write.what === 'run'));
  assert.ok(unit.writes.some((write) => write.kind === 'count-messages' && write.messages === 1));
});

test('redaction, labels and the flow control key of the run still apply, and the limits of the key do not change', () => {
  const redact = { body: true, headers: [], fields: [] };
  const flowControl = { key: 'k', parallelism: 1 };
  const { run, unit } = forked(original({}, { redact, flowControl }), [], {});
  assert.deepEqual(run.settings, { ...SETTINGS, redact, flowControl });
  const [keyWrite] = unit.writes.filter((write) => write.kind === 'put-flow-control');
  assert.deepEqual(keyWrite?.flowControl, { key: 'k' });
});

test('stored events and pending tasks stay with the original run', () => {
  const keptEvents = [
    { eventKey: 'k', eventId: 'e', content: { kind: 'data', body: { encoding: 'utf8', data: '' } }, receivedAt: 1 },
  ] as const;
  const was = original({ nextStepId: 4, keptEvents, tasks: new Map([[3, parked(3)]]) });
  const { run, unit } = forked(was, row(2), { fromStep: 3 });
  assert.deepEqual(run.keptEvents, []);
  assert.ok(unit.writes.every((write) => !('runKey' in write) || write.runKey === run.key));
});

test('the requested id of a fork must be free', () => {
  const { run, unit } = forked(original(), [], { workflowRunId: 'mine' });
  assert.equal(run.workflowRunId, 'mine');
  assert.ok(unit.guards.some((guard) => guard.kind === 'run-id-free' && guard.workflowRunId === 'mine'));
});

test('a plain message cannot be forked', () => {
  const refused = refusal(original({}, { message: { method: 'POST' } }), [], {});
  assert.deepEqual([refused.because, /plain message/.test(refused.message)], ['run', true]);
});
