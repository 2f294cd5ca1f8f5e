import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RunStory, type StoryOutcome, type StoryPage } from './run-story.js';

function storyOf(...pages: readonly StoryPage[]): string {
  let written = '';
  const story = new RunStory({
    write: (text) => {
      written += text;
    },
    colours: false,
    isTerminal: false,
  });
  for (const page of pages) story.tell(page);
  return written;
}

const STEP = {
  ...{ stepId: 1, name: 'charge', outcome: null, messageId: 'msg_1', concurrent: 1 },
  ...{ createdAt: 1000, startedAt: null, completedAt: 1040 },
};
const FAILED = { name: 'charge', messageId: 'msg_1', retried: 0, at: 1010, message: 'no\nanswer', retryAt: 1030 };
const WAIT = { stepId: 3, name: 'wait', concurrent: 1, createdAt: 1000 };
const PAGE: StoryPage = { workflowRunId: 'run', depth: 0, past: null, steps: [], attempts: [], waits: [] };

test('a step is told once, with the time that it took', () => {
  const page = { ...PAGE, steps: [STEP] };
  assert.equal(storyOf(page, page), '   ✓   charge                done in 40 ms\n');
});

test('a failed attempt is told with its reason, and the step that follows says which attempt it was and how long that took', () => {
  const story = storyOf({ ...PAGE, attempts: [FAILED] }, { ...PAGE, attempts: [FAILED], steps: [STEP] });
  assert.deepEqual(story.split('\n'), [
    '   ✗   charge                attempt 1 failed: no\\nanswer; again in 20 ms',
    '   ✓   charge                done in 10 ms, attempt 2',
    '',
  ]);
});

test('what a step waited for before it was begun is not in the time that it took', () => {
  assert.match(storyOf({ ...PAGE, steps: [{ ...STEP, startedAt: 1035 }] }), /done in 5 ms/);
});

test('the last attempt says that none is left', () => {
  assert.match(
    storyOf({ ...PAGE, attempts: [{ ...FAILED, retried: 3, retryAt: null }] }),
    /attempt 4 failed: .*; no attempt is left/,
  );
});

test('what happened between two looks is told in the order in which it happened', () => {
  const later = { ...STEP, stepId: 2, name: 'ship', messageId: 'msg_2', completedAt: 2000 };
  const story = storyOf({ ...PAGE, steps: [later, STEP], attempts: [FAILED] });
  assert.deepEqual(
    story.split('\n').map((line) => line.trim().split(/\s+/).slice(0, 2).join(' ')),
    ['✗ charge', '✓ charge', '✓ ship', ''],
  );
});

test('steps that were recorded before the telling began are told as such, and attempts of that time are not told', () => {
  const past = { until: 5000, words: 'kept from the failed run' };
  assert.equal(
    storyOf({ ...PAGE, past, steps: [STEP], attempts: [FAILED] }),
    '   =   charge                kept from the failed run\n',
  );
});

test('the time that a step took does not count what was before the telling began', () => {
  const past = { until: 1020, words: '' };
  assert.match(storyOf({ ...PAGE, past, steps: [STEP] }), /done in 20 ms/);
});

test('a sleep is told when it begins and when it ends; parallel steps are marked', () => {
  const sleep = { ...WAIT, concurrent: 2, for: { kind: 'time', until: 2500 } } as const;
  const slept = { ...STEP, stepId: 3, name: 'wait', outcome: { kind: 'slept' }, concurrent: 2, completedAt: 2504 } as const;
  assert.match(
    storyOf({ ...PAGE, waits: [sleep] }, { ...PAGE, steps: [slept] }),
    /… ‖ wait +sleeps 1\.5 s.*\n.*✓ ‖ wait +slept 1\.5 s/,
  );
});

test('a wait for an event says for which one, and a wait for a run which one was invoked', () => {
  const either = { ...WAIT, for: { kind: 'event', eventIds: ['paid', 'gone'], until: 3_601_000 } } as const;
  assert.match(storyOf({ ...PAGE, waits: [either] }), /… {3}wait +waits for the event paid or gone, 1 h 00 m at most/);
  const run = { ...WAIT, for: { kind: 'run', workflowRunId: 'wfr_child' } } as const;
  assert.match(storyOf({ ...PAGE, waits: [run] }), /… {3}wait +invoked the run wfr_child\n/);
});

const OUTCOMES: readonly (readonly [StoryOutcome, RegExp])[] = [
  [{ kind: 'event', timedOut: false }, /✓ {3}charge +the event came after 40 ms\n/],
  [{ kind: 'event', timedOut: true }, /✓ {3}charge +no event came in 40 ms\n/],
  [{ kind: 'answer', status: 201 }, /✓ {3}charge +answered 201 in 40 ms\n/],
  [{ kind: 'answer', status: 0 }, /✓ {3}charge +no answer came in 40 ms\n/],
  [{ kind: 'run' }, /✓ {3}charge +its run ended after 40 ms\n/],
];
for (const [outcome, words] of OUTCOMES) {
  test(`a step that ended so is told in its own words: ${JSON.stringify(outcome)}`, () => {
    assert.match(storyOf({ ...PAGE, steps: [{ ...STEP, outcome }] }), words);
  });
}

test('an invoked run is told between the steps of the run that invoked it, and indented', () => {
  const told: string[] = [];
  const story = new RunStory({ write: (text) => void told.push(text), colours: false, isTerminal: false });
  const child = { ...PAGE, workflowRunId: 'child', depth: 1, steps: [{ ...STEP, name: 'pack', completedAt: 1020 }] };
  story.tell({ ...PAGE, steps: [STEP] }, child);
  assert.deepEqual(told, ['        ✓   pack                  done in 20 ms\n', '   ✓   charge                done in 40 ms\n']);
});
