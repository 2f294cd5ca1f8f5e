import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_RESULT_BYTES, type StepRequest } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { parseReply } from './parse-reply.js';

const NOW = 1_700_000_000_000;
const REQUEST: StepRequest = {
  protocol: 1,
  run: { key: 'k', id: 'wfr_1', createdAt: NOW, workflowUrl: 'http://127.0.0.1/w', labels: [] },
  messageId: 'msg_1',
  retried: 0,
  maxRetries: 3,
  target: null,
  known: 3,
  journal: { from: 2, length: 2, entries: [] },
};
const PROGRESS = { protocol: 1, kind: 'progress', base: 2, done: [], advanced: false, planned: [] };
const FAILED = {
  protocol: 1,
  kind: 'failed',
  base: 2,
  done: [],
  error: { name: 'Error', message: 'no' },
  retry: { kind: 'backoff' },
};
const run = (stepId: number, more: object = {}) => ({ stepId, name: `s${stepId}`, type: 'Run', ...more });

function parse(frame: unknown, request = REQUEST) {
  return parseReply(JSON.stringify(frame), request, NOW);
}

test('reads every kind of reply', () => {
  const frames: readonly object[] = [
    PROGRESS,
    { ...PROGRESS, done: [run(2, { out: '{"i":1}' })], advanced: true, planned: [run(3), run(4)] },
    { ...PROGRESS, done: [run(3)], advanced: true, planned: [run(4)], hold: { worker: 'w', through: 3 } },
    // Parallel steps share a held run, so it may be ahead of this request.
    { ...PROGRESS, done: [run(3)], hold: { worker: 'w', through: 7 } },
    { ...FAILED, hold: { worker: 'w', through: 7 } },
    { ...PROGRESS, planned: [run(3), { stepId: 4, name: 'z', type: 'SleepFor', sleepMs: 0 }] },
    { ...PROGRESS, planned: [{ stepId: 3, name: 'z', type: 'SleepUntil', wakeAt: NOW + 5 }] },
    { ...PROGRESS, end: { kind: 'finished' } },
    { ...PROGRESS, end: { kind: 'finished', result: 'null' } },
    { ...PROGRESS, end: { kind: 'canceled' }, failureFunction: true },
    FAILED,
    { ...FAILED, base: 0 },
    { ...FAILED, step: run(2), error: { name: 'E', message: 'm', stack: 's' }, retry: { kind: 'never' } },
    { ...FAILED, done: [run(3)], retry: { kind: 'after', delayMs: 1500 } },
    { protocol: 1, kind: 'journal-needed' },
    { protocol: 1, kind: 'refused', code: 'journal-mismatch', message: 'recorded a, asked b' },
  ];
  for (const frame of frames) assert.deepEqual(parse(frame), { ok: true, reply: frame });
});

test('drops unknown fields, rounds fractional ms up, and limits long delays and texts', () => {
  assert.deepEqual(parse({ ...PROGRESS, extra: 1 }), { ok: true, reply: PROGRESS });
  const planned = [{ stepId: 3, name: 'z', type: 'SleepFor', sleepMs: 0.5 }];
  assert.deepEqual(parse({ ...PROGRESS, planned }), {
    ok: true,
    reply: { ...PROGRESS, planned: [{ ...planned[0], sleepMs: 1 }] },
  });
  const past = [{ stepId: 3, name: 'z', type: 'SleepUntil', wakeAt: -5 }];
  assert.deepEqual(parse({ ...PROGRESS, planned: past }), {
    ok: true,
    reply: { ...PROGRESS, planned: [{ ...past[0], wakeAt: 0 }] },
  });
  const long = parse({ ...FAILED, error: { name: 'E', message: 'x'.repeat(100_000) }, retry: { kind: 'after', delayMs: 1e15 } });
  assert.ok(long.ok && long.reply.kind === 'failed');
  assert.equal(long.reply.error.message.length, LIMITS.maxKeptErrorLength);
  assert.deepEqual(long.reply.retry, { kind: 'after', delayMs: LIMITS.maxRetryDelayMs });
});

test('rejects an invalid reply with an error that names the field', async (t) => {
  const { maxStepNameLength, maxSleepMs, maxPlannedAtOnce } = LIMITS;
  const table: readonly (readonly [what: string, frame: unknown, problem: RegExp])[] = [
    ['a string', 'hello', /the body must be an object, but is "hello"/],
    ['an array', [PROGRESS], /the body must be an object/],
    ['null', null, /the body must be an object, but is null/],
    ['no protocol', { ...PROGRESS, protocol: undefined }, /protocol must be 1, but is missing/],
    ['another protocol', { ...PROGRESS, protocol: 2 }, /protocol must be 1, but is 2/],
    ['no kind', { protocol: 1 }, /kind must be "progress".*is missing/],
    ['an unknown kind', { ...PROGRESS, kind: 'done' }, /kind must be .* is "done"/],
    ['no base', { ...PROGRESS, base: undefined }, /base must be an integer from 2 to 2, but is missing/],
    ['another base', { ...PROGRESS, base: 1 }, /base must be/],
    ['done that is not an array', { ...PROGRESS, done: {} }, /done must be an array/],
    ['a step that is not an object', { ...PROGRESS, done: [1] }, /done\[0\] must be an object, but is 1/],
    ['step id 0', { ...PROGRESS, done: [run(0)] }, /done\[0\]\.stepId/],
    ['a fractional step id', { ...PROGRESS, done: [run(1.5)] }, /done\[0\]\.stepId/],
    ['a step id as text', { ...PROGRESS, done: [{ ...run(2), stepId: '2' }] }, /stepId must be an integer.* is "2"/],
    ['a done step beyond the next', { ...PROGRESS, done: [run(5)] }, /reports step 5, but the next new step is 3/],
    ['no name', { ...PROGRESS, done: [{ stepId: 2, type: 'Run' }] }, /done\[0\]\.name must be a string, but is missing/],
    ['an empty name', { ...PROGRESS, planned: [run(3, { name: '' })] }, /planned\[0\]\.name must have 1 to/],
    ['a long name', { ...PROGRESS, planned: [run(3, { name: 'n'.repeat(maxStepNameLength + 1) })] }, /maxStepNameLength/],
    ['a name with U+0000', { ...PROGRESS, planned: [run(3, { name: 'a\u0000b' })] }, /name must not contain U\+0000/],
    ['a name with an unpaired surrogate', { ...PROGRESS, planned: [run(3, { name: 'a\ud800' })] }, /unpaired surrogate/],
    ['an unknown type', { ...PROGRESS, planned: [run(3, { type: 'Jump' })] }, /type must be a step type .* is "Jump"/],
    ['a wait without events', { ...PROGRESS, planned: [run(3, { type: 'Wait' })] }, /planned\[0\]\.eventIds must be an array/],
    ['out that is not a string', { ...PROGRESS, done: [run(2, { out: 1 })] }, /done\[0\]\.out must be a string/],
    ['out that is not JSON', { ...PROGRESS, done: [run(2, { out: '{' })] }, /done\[0\]\.out must be JSON text/],
    ['advanced as a number', { ...PROGRESS, advanced: 1 }, /advanced must be true or false/],
    ['planned below known', { ...PROGRESS, planned: [run(2)] }, /plans step 2, .* must be 3/],
    ['a gap before planned', { ...PROGRESS, planned: [run(4)] }, /planned step must be 3/],
    ['a gap in planned', { ...PROGRESS, planned: [run(3), run(5)] }, /planned\[1\].*must be 4/],
    ['a done step planned again', { ...PROGRESS, done: [run(3)], planned: [run(3)] }, /must be 4/],
    ['too many planned', { ...PROGRESS, planned: new Array(maxPlannedAtOnce + 1).fill(0) }, /maxPlannedAtOnce/],
    ['a sleep without a time', { ...PROGRESS, planned: [run(3, { type: 'SleepFor' })] }, /sleepMs must be a number/],
    ['a negative sleep', { ...PROGRESS, planned: [run(3, { type: 'SleepFor', sleepMs: -1 })] }, /sleepMs/],
    ['a sleep over the limit', { ...PROGRESS, planned: [run(3, { type: 'SleepFor', sleepMs: maxSleepMs + 1 })] }, /sleepMs/],
    ['a wake time too far', { ...PROGRESS, planned: [run(3, { type: 'SleepUntil', wakeAt: NOW + maxSleepMs + 1 })] }, /wakeAt/],
    ['an unknown end', { ...PROGRESS, end: { kind: 'over' } }, /end\.kind/],
    ['a result that is not JSON', { ...PROGRESS, end: { kind: 'finished', result: 'x' } }, /end\.result must be JSON text/],
    [
      'a hold position that is not a number',
      { ...PROGRESS, hold: { worker: 'w', through: '3' } },
      /hold\.through must be an integer/,
    ],
    ['a negative hold position', { ...PROGRESS, hold: { worker: 'w', through: -1 } }, /hold\.through must be an integer from 0/],
    ['hold without a worker', { ...PROGRESS, hold: { worker: '', through: 1 } }, /hold\.worker/],
    ['failed without an error', { ...FAILED, error: undefined }, /error must be an object/],
    ['failed without retry', { ...FAILED, retry: undefined }, /retry must be an object/],
    ['an unknown retry', { ...FAILED, retry: { kind: 'later' } }, /retry\.kind/],
    ['retry after a negative time', { ...FAILED, retry: { kind: 'after', delayMs: -1 } }, /retry\.delayMs/],
    ['another base with a step', { ...FAILED, base: 0, step: run(2) }, /base must be an integer from 2 to 2/],
    ['a refusal without a message', { protocol: 1, kind: 'refused', code: 'bad-request' }, /message must be a string/],
    ['an unknown refusal', { protocol: 1, kind: 'refused', code: 'no', message: '' }, /code must be one of/],
  ];
  for (const [what, frame, problem] of table) {
    await t.test(what, () => {
      const parsed = parse(frame);
      assert.ok(!parsed.ok, 'the reply was accepted');
      assert.match(parsed.problem, problem);
    });
  }
});

describe('a reply with several results', () => {
  const SEVERAL: StepRequest = { ...REQUEST, target: 2, checkpoint: { maxSteps: 3, maxChars: 100 } };
  const long = JSON.stringify('x'.repeat(100));

  test('is read, with the times of its steps', () => {
    const done = [run(2, { out: '1', ranMs: [0, 3] }), run(3, { ranMs: [3, 3] }), run(4, { out: long, ranMs: [4, 90] })];
    const hold = { worker: 'w', through: 5 };
    const frames: readonly object[] = [
      { ...PROGRESS, done, advanced: true, planned: [run(5)], hold },
      { ...PROGRESS, done, advanced: true, end: { kind: 'finished', result: '1' } },
      { ...FAILED, done, step: run(5), hold },
    ];
    for (const frame of frames) assert.deepEqual(parse(frame, SEVERAL), { ok: true, reply: frame });
    const next = { ...PROGRESS, done: [run(3), run(4)], advanced: true, planned: [run(5)] };
    assert.deepEqual(parse(next, { ...SEVERAL, target: null }), { ok: true, reply: next });
  });

  test('skips the positions that a fork has recorded', () => {
    const frame = { ...PROGRESS, done: [run(3), run(5)], advanced: true, planned: [run(6)] };
    assert.deepEqual(parse(frame, { ...SEVERAL, target: null, ahead: [4] }), { ok: true, reply: frame });
  });

  const table: readonly (readonly [what: string, done: readonly object[], problem: RegExp, request?: StepRequest])[] = [
    ['the request does not accept it', [run(2), run(3)], /done has 2 results, but the limit is 1/, REQUEST],
    [
      'it has too many results',
      [run(2), run(3), run(4), run(5)],
      /done has 4 results, but the limit is 3 \(maxCheckpointSteps\)/,
    ],
    ['a result follows too many characters', [run(2, { out: long }), run(3)], /done\[1\] follows results of 104 characters.*100/],
    ['it has a gap', [run(2), run(4)], /done\[1\] reports step 4, but the next new step is 3/],
    ['it has a step twice', [run(2), run(2)], /done\[1\] reports step 2 a second time/],
    ['a planned step follows', [run(2), run(1)], /done\[1\] reports step 1, which was planned before/],
    ['it starts with the step of another request', [run(1), run(3)], /step 1, which was not requested/],
    ['a step of another type follows', [run(2), run(3, { type: 'SleepFor' })], /done\[1\] has the type SleepFor/],
    ['a time is not a pair', [run(2, { ranMs: [1] })], /done\[0\]\.ranMs must contain the start and the end/],
    ['a step ends before it starts', [run(2, { ranMs: [5, 4] })], /done\[0\]\.ranMs\[1\] must be an integer from 5/],
  ];
  for (const [what, done, problem, request = SEVERAL] of table)
    test(`is rejected if ${what}`, () => {
      const parsed = parse({ ...PROGRESS, done }, request);
      assert.ok(!parsed.ok, 'the reply was accepted');
      assert.match(parsed.problem, problem);
    });
});

test('rejects a result over the limit, which the SDK also checks, and names the limit', () => {
  assert.equal(MAX_RESULT_BYTES, LIMITS.maxStepResultBytes);
  const out = JSON.stringify('ä'.repeat(LIMITS.maxStepResultBytes / 2));
  const parsed = parse({ ...PROGRESS, done: [run(2, { out })] });
  assert.ok(!parsed.ok && parsed.exceedsLimit);
  assert.match(parsed.problem, /done\[0\]\.out has \d+ bytes, over the limit .*maxStepResultBytes/);
});

test('rejects a reply or result that is nested too deep before parsing it', () => {
  const summary = 'the body is JSON that exceeds a limit: nested deeper than 256 levels';
  const tooDeep = { ok: false, problem: summary, summary, exceedsLimit: true };
  for (const bracket of ['[', '{"a":']) assert.deepEqual(parseReply(bracket.repeat(1_000_000), REQUEST, NOW), tooDeep);
  const parsed = parse({ ...PROGRESS, done: [run(3, { out: '['.repeat(1_000) })] });
  assert.ok(!parsed.ok && parsed.exceedsLimit);
  assert.match(parsed.problem, /out is JSON text that exceeds a limit: nested deeper than 256 levels/);
});

test('rejects a body that is not JSON', () => {
  const summary = 'the body is not JSON';
  const notJson = { ok: false, problem: summary, summary, exceedsLimit: false };
  for (const body of ['', '<html>', '{"protocol":1', '\0']) assert.deepEqual(parseReply(body, REQUEST, NOW), notJson);
});

test('new positions of a fork skip positions that are already recorded, and no others', () => {
  const forked: StepRequest = { ...REQUEST, known: 3, ahead: [4, 5], journal: { from: 0, length: 4, entries: [] } };
  const planned = (...stepIds: number[]) =>
    parse({ ...PROGRESS, base: 4, planned: stepIds.map((stepId) => run(stepId)) }, forked);
  assert.equal(planned(3, 6, 7).ok, true);
  assert.equal(planned(3, 4).ok, false);
  assert.equal(planned(3, 7).ok, false);
  assert.equal(parse({ ...PROGRESS, base: 4, done: [run(3)], planned: [run(6)] }, forked).ok, true);
});
