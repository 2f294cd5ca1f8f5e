import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RunStory, type StoryPage } from './run-story.js';

function storyOf(...pages: readonly StoryPage[]): string {
  let written = '';
  const story = new RunStory({
    write: (text) => {
      written += text;
    },
    colours: false,
  });
  for (const page of pages) story.tell(page);
  return written;
}

const STEP = { stepId: 1, name: 'charge', type: 'Run', messageId: 'msg_1', concurrent: 1, createdAt: 1000, completedAt: 1040 };
const FAILED = { name: 'charge', messageId: 'msg_1', retried: 0, at: 1010, message: 'no\nanswer', retryAt: 1030 };
const PAGE: StoryPage = { past: null, steps: [], attempts: [], sleeps: [] };

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
  const sleep = { stepId: 3, name: 'wait', concurrent: 2, createdAt: 1000, wakeAt: 2500 };
  const slept = { ...STEP, stepId: 3, name: 'wait', type: 'SleepFor', concurrent: 2, completedAt: 2504 };
  assert.match(
    storyOf({ ...PAGE, sleeps: [sleep] }, { ...PAGE, steps: [slept] }),
    /… ‖ wait +sleeps 1\.5 s.*\n.*✓ ‖ wait +slept 1\.5 s/,
  );
});
