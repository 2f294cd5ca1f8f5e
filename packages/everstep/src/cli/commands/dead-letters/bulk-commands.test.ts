import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runOn } from '../../testing/scripted-server.js';

const REFUSAL = { status: 400, body: { error: 'the cursor is invalid' } };
const run = (n: number) => ({ workflowRunId: `wfr_${n}`, workflowCreatedAt: Date.UTC(2026, 4, n) });

for (const [verb, outcome] of [
  ['resume', 'resumed'],
  ['restart', 'restarted'],
] as const) {
  const all = ['dlq', verb, '--all'] as const;
  const page = { body: { cursor: 'next', workflowRuns: [run(1), run(2)] } };
  const failureText = `2 dead letters were ${outcome} before the command failed.\nthe cursor is invalid\n`;

  test(`dlq ${verb} --all that fails after a page prints the new runs, and then fails`, async () => {
    const { code, stdout, stderr } = await runOn([page, REFUSAL], ...all);
    assert.deepEqual([code, stderr], [1, failureText]);
    assert.equal(stdout, 'NEW RUN  CREATED (UTC)\nwfr_1    2026-05-01 00:00:00\nwfr_2    2026-05-02 00:00:00\n');
  });

  test(`dlq ${verb} --all --json that fails after a page prints the new runs as JSON, and then fails`, async () => {
    const { code, stdout, stderr } = await runOn([page, REFUSAL], ...all, '--json');
    assert.deepEqual([code, stderr], [1, failureText]);
    assert.deepEqual(JSON.parse(stdout), { workflowRuns: [run(1), run(2)] });
  });

  test(`dlq ${verb} --all that fails at once prints only the error`, async () => {
    const { code, stdout, stderr } = await runOn([REFUSAL], ...all, '--json');
    assert.deepEqual([code, stdout, stderr], [1, '', 'the cursor is invalid\n']);
  });
}

test('dlq delete --all that fails after a page prints how many were deleted, and then fails', async () => {
  const page = { body: { cursor: 'next', deleted: 50 } };
  const failureText = '50 dead letters were deleted before the command failed.\nthe cursor is invalid\n';
  const shown = await runOn([page, REFUSAL], 'dlq', 'delete', '--all');
  assert.deepEqual([shown.code, shown.stdout, shown.stderr], [1, '50 deleted\n', failureText]);
  const printed = await runOn([page, REFUSAL], 'dlq', 'delete', '--all', '--json');
  assert.deepEqual([printed.code, JSON.parse(printed.stdout), printed.stderr], [1, { deleted: 50 }, failureText]);
  const refused = await runOn([REFUSAL], 'dlq', 'delete', '--all');
  assert.deepEqual([refused.code, refused.stdout, refused.stderr], [1, '', 'the cursor is invalid\n']);
});

test('dlq delete --all adds up all pages', async () => {
  const pages = [{ body: { cursor: 'next', deleted: 50 } }, { body: { deleted: 7 } }];
  assert.equal((await runOn(pages, 'dlq', 'delete', '--all')).stdout, '57 deleted\n');
});
