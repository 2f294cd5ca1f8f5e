/** Limits of what a run may send if the plan of its instance limits the size of a message. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EncodedBody, FailedReply, PlannedStep, ProgressReply } from '@everstep/sdk/protocol';
import { at, decideOnReply, progress, startedRun as start, T0 } from '../engine.fixture.js';
import { decide } from '../runs/decide.js';
import type { Decision } from '../runs/decision.js';
import { ADVANCE_SLOT, type Run } from '../runs/run.js';
import { recoverRun } from '../runs/start.js';
import { bytesOf } from './message-size.js';

const context = at(0);
const LIMITED = { ...context, messageLimit: { plan: 'small', maxBytes: 10 } };
/** Starts a run with a payload above the limit: only what the run itself sends is limited. */
const startedRun = (): Run => start({}, { payload: { body: new Uint8Array(100), contentType: null, forwardHeaders: {} } });

const answered = (run: Run, more: Partial<ProgressReply>, within = LIMITED): Decision =>
  decideOnReply(run, ADVANCE_SLOT, progress(run, more), within);

const utf8 = (bytes: number): EncodedBody => ({ encoding: 'utf8', data: 'x'.repeat(bytes) });
const SENDING: Readonly<Record<string, (stepId: number, body: EncodedBody) => PlannedStep>> = {
  'a call': (stepId, body) => ({
    stepId,
    name: 'send',
    type: 'Call',
    call: { url: 'http://third/', method: 'POST', headers: {}, body },
  }),
  'an invocation': (stepId, body) => ({
    stepId,
    name: 'send',
    type: 'Invoke',
    invoke: { workflowUrl: 'http://app/other', headers: {}, body },
  }),
  'a notification': (stepId, body) => ({ stepId, name: 'send', type: 'Notify', eventId: 'e', content: { kind: 'data', body } }),
};

const refusals = ({ writes }: Decision) => writes.filter((write) => write.kind === 'count-of-day');

for (const [what, step] of Object.entries(SENDING)) {
  test(`${what} within the limit of the plan is sent, and a larger one fails the run permanently`, () => {
    const allowed = answered(startedRun(), { planned: [step(1, utf8(10))] });
    assert.deepEqual([allowed.run.status, allowed.run.tasks.has(1), refusals(allowed)], ['active', true, []]);
    const refused = answered(startedRun(), { planned: [step(1, utf8(11))] });
    assert.equal(refused.run.status, 'failed');
    assert.match(
      refused.deadLetter?.error ?? '',
      /step "send" \(1\) sends a message of 11 bytes, but the plan small allows at most 10 \(body-too-large\)/,
    );
    assert.deepEqual(refusals(refused), [
      { kind: 'count-of-day', instanceId: 'qi_1', what: 'step-body-too-large', count: 1, at: T0 },
    ]);
    assert.ok(!refused.writes.some((write) => write.kind === 'put-task' && write.task.slot === 1));
  });
}

test('a step that was planned by name only is subject to the plan when it specifies what it sends', () => {
  const planned: PlannedStep[] = [
    { stepId: 1, name: 'send', type: 'Run', asks: 'Call' },
    { stepId: 2, name: 'other', type: 'Run' },
  ];
  const { run } = answered(startedRun(), { planned });
  const specify = (bytes: number) => {
    const step = SENDING['a call']?.(1, utf8(bytes)) ?? assert.fail();
    return decide(run, { kind: 'submitted', submission: { done: [], planned: [step] } }, LIMITED);
  };
  assert.deepEqual([specify(10).run.status, specify(10).run.tasks.get(1)?.kind], ['active', 'call']);
  const refused = specify(11);
  assert.equal(refused.run.status, 'failed');
  assert.match(refused.deadLetter?.error ?? '', /step "send" \(1\) sends a message of 11 bytes/);
  assert.equal(refusals(refused).length, 1);
});

test('steps before the one that is too large are kept, and a resume with another plan continues from them', () => {
  const done = [{ stepId: 1, name: 'charge', type: 'Run' as const, out: '"paid"' }];
  const step = SENDING['a call']?.(2, utf8(11)) ?? assert.fail();
  const failed = answered(startedRun(), { done, planned: [step] });
  assert.equal(failed.run.status, 'failed');
  assert.deepEqual(
    failed.writes.flatMap((write) => (write.kind === 'record-step' ? [write.step.name] : [])),
    ['charge'],
  );
  const dlqId = failed.deadLetter?.dlqId ?? assert.fail();
  const resumed = recoverRun(failed.run, { kind: 'resume', dlqId, overrides: {}, workflowRunId: null }, context);
  assert.ok(resumed !== 'no-flow-control-key');
  assert.equal(resumed.run.journalLength, 1);
  const went = answered(resumed.run, { planned: [step] }, { ...context, messageLimit: { plan: 'large', maxBytes: 11 } });
  assert.deepEqual([went.run.status, went.run.tasks.get(2)?.kind], ['active', 'call']);
});

const DONE = { stepId: 1, name: 'report', type: 'Run' as const };

test('a result within the limit of the plan is recorded, and a larger one fails the run permanently', () => {
  const planned: PlannedStep[] = [{ stepId: 2, name: 'next', type: 'Run' }];
  const allowed = answered(startedRun(), { done: [{ ...DONE, out: '"12345678"' }], advanced: true, planned });
  assert.deepEqual([allowed.run.status, allowed.run.journalLength, refusals(allowed)], ['active', 1, []]);
  // The result has 9 characters and 11 bytes.
  const refused = answered(startedRun(), { done: [{ ...DONE, out: '"é23456é"' }] });
  assert.deepEqual([refused.run.status, refused.run.journalLength, refusals(refused).length], ['failed', 0, 1]);
  assert.match(
    refused.deadLetter?.error ?? '',
    /step "report" \(1\) returned 11 bytes, but the plan small allows at most 10 \(body-too-large\); store the data elsewhere/,
  );
});

test('the results before the one that is too large are kept', () => {
  const done = [
    { ...DONE, out: '1' },
    { ...DONE, stepId: 2, out: '"123456789"' },
    { ...DONE, stepId: 3, out: '3' },
  ];
  const { run, deadLetter } = answered(startedRun(), { done });
  assert.deepEqual([run.status, run.journalLength], ['failed', 1]);
  assert.match(deadLetter?.error ?? '', /step "report" \(2\) returned 11 bytes/);
});

test('the result of a run is limited too, and a resume with another plan ends it', () => {
  const end = { kind: 'finished', result: '"123456789"' } as const;
  const failed = answered(startedRun(), { end });
  assert.equal(failed.run.status, 'failed');
  assert.match(failed.deadLetter?.error ?? '', /: the workflow returned 11 bytes, but the plan small allows at most 10/);
  const dlqId = failed.deadLetter?.dlqId ?? assert.fail();
  const resumed = recoverRun(failed.run, { kind: 'resume', dlqId, overrides: {}, workflowRunId: null }, context);
  assert.ok(resumed !== 'no-flow-control-key');
  assert.equal(
    answered(resumed.run, { end }, { ...context, messageLimit: { plan: 'large', maxBytes: 11 } }).run.status,
    'succeeded',
  );
});

test('a failed attempt that also reports a result that is too large fails the run permanently', () => {
  const run = startedRun();
  const reply: FailedReply = {
    ...{ protocol: 1, kind: 'failed', base: 0, done: [{ ...DONE, out: '"123456789"' }] },
    ...{ error: { name: 'Error', message: 'no' }, retry: { kind: 'backoff' } },
  };
  assert.match(decideOnReply(run, ADVANCE_SLOT, reply, LIMITED).deadLetter?.error ?? '', /step "report" \(1\) returned 11 bytes/);
});

test('the limit counts bytes, not characters, in any encoding', () => {
  assert.equal(bytesOf({ encoding: 'utf8', data: 'é€😀' }), 9);
  for (let length = 0; length < 8; length++) {
    assert.equal(bytesOf({ encoding: 'base64', data: Buffer.alloc(length, 1).toString('base64') }), length);
  }
});
