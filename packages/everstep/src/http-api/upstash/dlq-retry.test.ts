/** Tests that a retry of messages and runs by id is all or nothing. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ApiHarness } from '../testing/api-harness.js';

interface Entries {
  readonly messages: readonly { readonly dlqId: string; readonly workflowRunId?: string }[];
}

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const entries = async () => (await harness.call<Entries>('GET', '/v2/dlq')).body.messages;

/** Creates the dead letter of a message with a flow control key, and returns its id. */
async function failMessage(): Promise<string> {
  const known = new Set((await entries()).map(({ dlqId }) => dlqId));
  const headers = { 'upstash-retries': '0', 'upstash-flow-control-key': 'k', 'upstash-flow-control-value': 'parallelism=5' };
  assert.equal((await harness.call('POST', '/v2/publish/http://m.test/refuse', { headers })).status, 200);
  await harness.runtime.idle();
  const added = (await entries()).find(({ dlqId }) => !known.has(dlqId));
  assert.ok(added);
  return added.dlqId;
}

test('retries messages and runs together, in the order of their ids', async () => {
  const [runId] = await harness.fail(1);
  const messageId = await failMessage();
  const dlqIds = `dlqIds=${runId}&dlqIds=${messageId}`;
  const { status, body } = await harness.call<{ responses: { messageId: string }[] }>('POST', `/v2/dlq/retry?${dlqIds}`);
  assert.equal(status, 201);
  assert.deepEqual(
    body.responses.map(({ messageId: id }) => id.startsWith('msg_')),
    [false, true],
  );
  const remaining = (await entries()).map(({ dlqId }) => dlqId);
  assert.ok(!remaining.includes(messageId) && !remaining.includes(String(runId)), String(remaining));
});

test('a retry of messages and runs changes nothing if one of them is refused', async () => {
  const messageId = await failMessage();
  // The run has no flow control key, so limits without a key do not apply to it.
  const [runId] = await harness.fail(1);
  const before = await entries();
  const url = `/v2/dlq/retry?dlqIds=${messageId}&dlqIds=${runId}`;
  const headers = { 'upstash-flow-control-value': 'parallelism=2' };
  const { status, body } = await harness.call('POST', url, { headers });
  assert.equal(status, 400, JSON.stringify(body));
  assert.match(body.error, /has no flow control key; nothing was changed/);
  await harness.runtime.idle();
  assert.deepEqual(await entries(), before);
});
