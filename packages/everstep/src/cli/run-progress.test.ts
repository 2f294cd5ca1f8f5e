import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProgressOutcome, type ProgressPage, RunProgressPrinter } from './run-progress.js';

function printedText(...pages: readonly ProgressPage[]): string {
  let written = '';
  const printer = new RunProgressPrinter({
    write: (text) => {
      written += text;
    },
    hasColors: false,
    isTerminal: false,
  });
  for (const page of pages) printer.print(page);
  return written;
}

const STEP = {
  ...{ stepId: 1, name: 'charge', outcome: null, messageId: 'msg_1', concurrent: 1 },
  ...{ createdAt: 1000, startedAt: null, completedAt: 1040 },
};
const FAILED = { name: 'charge', messageId: 'msg_1', retried: 0, at: 1010, message: 'no\nanswer', retryAt: 1030 };
const WAIT = { stepId: 3, name: 'wait', concurrent: 1, createdAt: 1000 };
const PAGE: ProgressPage = { workflowRunId: 'run', depth: 0, past: null, steps: [], attempts: [], waits: [] };

test('a step is printed once with its duration', () => {
  const page = { ...PAGE, steps: [STEP] };
  assert.equal(printedText(page, page), '   ✓   charge                done in 40 ms\n');
});

test('a failed attempt is printed with its reason, and the step with its attempt number and duration', () => {
  const text = printedText({ ...PAGE, attempts: [FAILED] }, { ...PAGE, attempts: [FAILED], steps: [STEP] });
  assert.deepEqual(text.split('\n'), [
    '   ✗   charge                attempt 1 failed: no\\nanswer; retry in 20 ms',
    '   ✓   charge                done in 10 ms, attempt 2',
    '',
  ]);
});

test('the duration of a step excludes the time before its attempt started', () => {
  assert.match(printedText({ ...PAGE, steps: [{ ...STEP, startedAt: 1035 }] }), /done in 5 ms/);
});

test('the last attempt reports that no attempts are left', () => {
  assert.match(
    printedText({ ...PAGE, attempts: [{ ...FAILED, retried: 3, retryAt: null }] }),
    /attempt 4 failed: .*; no attempts left/,
  );
});

test('events between two polls are printed in chronological order', () => {
  const later = { ...STEP, stepId: 2, name: 'ship', messageId: 'msg_2', completedAt: 2000 };
  const text = printedText({ ...PAGE, steps: [later, STEP], attempts: [FAILED] });
  assert.deepEqual(
    text.split('\n').map((line) => line.trim().split(/\s+/).slice(0, 2).join(' ')),
    ['✗ charge', '✓ charge', '✓ ship', ''],
  );
});

test('earlier steps are marked, and earlier attempts are not printed', () => {
  const past = { until: 5000, text: 'kept from the failed run' };
  assert.equal(
    printedText({ ...PAGE, past, steps: [STEP], attempts: [FAILED] }),
    '   =   charge                kept from the failed run\n',
  );
});

test('the duration of a step excludes the time before the first read', () => {
  const past = { until: 1020, text: '' };
  assert.match(printedText({ ...PAGE, past, steps: [STEP] }), /done in 20 ms/);
});

test('the start and end of a sleep are printed; parallel steps are marked', () => {
  const sleep = { ...WAIT, concurrent: 2, target: { kind: 'time', until: 2500 } } as const;
  const slept = { ...STEP, stepId: 3, name: 'wait', outcome: { kind: 'slept' }, concurrent: 2, completedAt: 2504 } as const;
  assert.match(
    printedText({ ...PAGE, waits: [sleep] }, { ...PAGE, steps: [slept] }),
    /… ‖ wait +sleeping for 1\.5 s.*\n.*✓ ‖ wait +slept 1\.5 s/,
  );
});

test('a wait names its events or the invoked run', () => {
  const either = { ...WAIT, target: { kind: 'event', eventIds: ['paid', 'gone'], until: 3_601_000 } } as const;
  assert.match(printedText({ ...PAGE, waits: [either] }), /… {3}wait +waiting for event paid or gone \(timeout 1 h 00 m\)/);
  const run = { ...WAIT, target: { kind: 'run', workflowRunId: 'wfr_child' } } as const;
  assert.match(printedText({ ...PAGE, waits: [run] }), /… {3}wait +invoked run wfr_child\n/);
});

const OUTCOMES: readonly (readonly [ProgressOutcome, RegExp])[] = [
  [{ kind: 'event', hasTimedOut: false }, /✓ {3}charge +event received after 40 ms\n/],
  [{ kind: 'event', hasTimedOut: true }, /✓ {3}charge +timed out after 40 ms without an event\n/],
  [{ kind: 'response', status: 201 }, /✓ {3}charge +status 201 after 40 ms\n/],
  [{ kind: 'response', status: 0 }, /✓ {3}charge +no response after 40 ms\n/],
  [{ kind: 'run' }, /✓ {3}charge +invoked run ended after 40 ms\n/],
];
for (const [outcome, words] of OUTCOMES) {
  test(`the outcome of a step is described: ${JSON.stringify(outcome)}`, () => {
    assert.match(printedText({ ...PAGE, steps: [{ ...STEP, outcome }] }), words);
  });
}

test('an invoked run is printed indented between the steps of its parent', () => {
  const printed: string[] = [];
  const printer = new RunProgressPrinter({ write: (text) => void printed.push(text), hasColors: false, isTerminal: false });
  const child = { ...PAGE, workflowRunId: 'child', depth: 1, steps: [{ ...STEP, name: 'pack', completedAt: 1020 }] };
  printer.print({ ...PAGE, steps: [STEP] }, child);
  assert.deepEqual(printed, [
    '        ✓   pack                  done in 20 ms\n',
    '   ✓   charge                done in 40 ms\n',
  ]);
});
