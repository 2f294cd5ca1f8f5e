/** Texts of runs are written by apps and their callers, so that a terminal must not interpret them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runOn } from '../../testing/scripted-server.js';

/** Clears the screen, in the form of two characters and in the form of one. */
const CONTROLS = '\u001b[2J\u009b2J';
const ESCAPED = '\\x1b[2J\\x9b2J';
const RUN = {
  workflowRunId: 'wfr_1',
  workflowState: 'RUN_FAILED',
  workflowUrl: `http://app/${CONTROLS}`,
  workflowRunCreatedAt: 0,
  labels: [`label${CONTROLS}`],
  flowControlKey: `key${CONTROLS}`,
  error: `failed${CONTROLS}\nsecond line`,
  result: `result${CONTROLS}`,
  steps: [],
  attempts: [],
  tasks: [],
};
// biome-ignore lint/suspicious/noControlCharactersInRegex: the output must not contain them
const CONTROL_CHARACTER = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/;

test('runs get escapes the control characters of the run', async () => {
  const { code, stdout } = await runOn([{ body: RUN }], 'runs', 'get', 'wfr_1');
  assert.equal(code, 0);
  assert.doesNotMatch(stdout, CONTROL_CHARACTER);
  const line = (name: string, value: string) => `\n${name.padEnd(10)}${value}\n`;
  for (const text of [
    line('workflow', `http://app/${ESCAPED}`),
    line('labels', `label${ESCAPED}`),
    line('flow key', `key${ESCAPED}`),
    line('error', `failed${ESCAPED}\\nsecond line`),
    line('result', '"result\\u001b[2J\\x9b2J"'),
  ])
    assert.ok(stdout.includes(text), `${text} in ${stdout}`);
});

test('trigger --wait escapes the control characters of the error and of the result', async () => {
  const failed = await runOn([{ body: RUN }], 'trigger', 'http://app/flow', '--wait');
  assert.deepEqual([failed.code, failed.stdout], [1, `wfr_1 RUN_FAILED: failed${ESCAPED}\\nsecond line\n`]);
  const succeeded = await runOn([{ body: { ...RUN, workflowState: 'RUN_SUCCESS' } }], 'trigger', 'http://app/flow', '--wait');
  assert.deepEqual([succeeded.code, succeeded.stdout], [0, 'wfr_1 RUN_SUCCESS\n"result\\u001b[2J\\u009b2J"\n']);
});

test('an error of the server is printed without control characters', async () => {
  const { code, stderr } = await runOn([{ status: 400, body: { error: `invalid${CONTROLS}` } }], 'runs', 'get', 'wfr_1');
  assert.deepEqual([code, stderr], [1, `invalid${ESCAPED}\n`]);
});
