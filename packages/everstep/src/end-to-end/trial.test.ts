import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serve } from '@everstep/sdk';
import { serveWorkflows, startTestService } from '@everstep/sdk/testing';

const sent: string[] = [];

const trial = serve<{ email: string }, { end: string }>(async (context) => {
  const { email } = context.payload;
  await context.run('welcome', () => sent.push(`welcome, ${email}`));
  await context.sleep('three weeks', '21d');
  await context.run('remind', () => sent.push(`one week left, ${email}`));
  await context.sleep('the last week', '7d');
  return context.run('end', () => ({ end: `goodbye, ${email}` }));
});

test('a trial ends after four weeks, with a reminder one week before', async (t) => {
  const service = await startTestService();
  t.after(() => service.stop());
  const workflows = await serveWorkflows({ '/trial': trial });
  t.after(() => workflows.stop());

  const { workflowRunId } = await service.triggerAndSettle(workflows.urls['/trial'], { body: { email: 'me@example.com' } });
  assert.deepEqual(sent, ['welcome, me@example.com']);

  await service.advance('20d');
  assert.equal(sent.length, 1);
  await service.advance('1d');
  assert.deepEqual(sent, ['welcome, me@example.com', 'one week left, me@example.com']);
  assert.equal(await service.stateOf(workflowRunId), 'RUN_STARTED');

  await service.advance('7d');
  assert.deepEqual(await service.resultOf(workflowRunId), { end: 'goodbye, me@example.com' });
});
