import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LIMITS } from '../../../config/limits.js';
import type { DeadLetterAssignees, DeadLetterGroup, DeadLetterGroupPage } from '../../../contract/dead-letter-groups.js';
import { ApiHarness, type ErrorResponse } from '../../testing/api-harness.js';

const GROUPS = '/v2/workflows/dlq/groups';
const HOUR_MS = 3_600_000;

let harness: ApiHarness;
let fingerprint: string;
before(async () => {
  harness = await ApiHarness.open();
  await harness.fail(1);
  [{ fingerprint } = { fingerprint: '' }] = (await harness.call<DeadLetterGroupPage>('GET', GROUPS)).body.groups;
  for (const [userId, email] of [
    ['usr_ann', 'ann@w.test'],
    ['usr_eve', 'eve@w.test'],
  ] as const)
    await harness.store.accounts.createUser({
      user: { userId, email, createdAt: 1 },
      apiKey: { apiKeyId: `key_${userId}`, userId, name: 'first', keyHash: userId, createdAt: 1 },
    });
  await harness.store.accounts.changeInstance({ instanceId: 'qi_1', change: { accountId: 'usr_ann' } });
});
after(() => harness.close());

const send = <Body = DeadLetterGroup>(method: 'PUT' | 'POST' | 'DELETE', path: string, body?: object) =>
  harness.call<Body>(method, `${GROUPS}/${fingerprint}/${path}`, {
    ...(body ? { headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(body)) } : {}),
  });
const attention = async () => {
  const { body } = await harness.call<{ attention: { subject: string }[] }>('GET', '/v2/insights');
  return body.attention.map(({ subject }) => subject);
};

test('a user with access to the instance can be assigned, and no other', async () => {
  assert.deepEqual((await harness.call<DeadLetterAssignees>('GET', '/v2/workflows/dlq/assignees')).body, {
    assignees: ['ann@w.test'],
  });
  const { status, body } = await send('PUT', 'assignee', { assignee: 'Ann@w.test' });
  assert.equal(status, 200);
  assert.equal(body.assignment?.assignee, 'ann@w.test');
  assert.match(body.assignment?.by ?? '', /^token /);
  const refused = await send<ErrorResponse>('PUT', 'assignee', { assignee: 'eve@w.test' });
  assert.equal(refused.headers['svc-error-code'], 'bad-body');
  assert.match(refused.body.error, /must be a user with access/);
  assert.equal((await send('PUT', 'assignee', { assignee: null })).body.assignment, null);
});

test('a snoozed group needs no attention', async () => {
  assert.ok((await attention()).includes(fingerprint));
  const until = Date.now() + HOUR_MS;
  const { body } = await send('PUT', 'snooze', { until });
  assert.deepEqual([body.snooze?.until, body.needsAttention, body.state], [until, false, 'new']);
  assert.ok(!(await attention()).includes(fingerprint));
  for (const wrong of [Date.now() - 1, Date.now() + LIMITS.maxSnoozeMs + HOUR_MS]) {
    const refused = await send<ErrorResponse>('PUT', 'snooze', { until: wrong });
    assert.match(refused.body.error, /"until" must be in the future, at most 90 days from now/);
  }
  assert.equal((await send('PUT', 'snooze', { until: null })).body.needsAttention, true);
});

test('notes are listed newest first, and a list of groups contains the newest', async () => {
  await send('POST', 'notes', { text: 'the provider is down' });
  const { body } = await send('POST', 'notes', { text: 'it is up again' });
  assert.deepEqual(
    body.notes.map(({ text }) => text),
    ['it is up again', 'the provider is down'],
  );
  const [listed] = (await harness.call<DeadLetterGroupPage>('GET', GROUPS)).body.groups;
  assert.deepEqual([listed?.notes.length, listed?.notes[0]?.text, listed?.noteCount], [1, 'it is up again', 2]);
  assert.equal((await send('DELETE', `notes/${body.notes[0]?.noteId}`)).body.noteCount, 1);
  assert.equal((await send<ErrorResponse>('DELETE', `notes/${body.notes[0]?.noteId}`)).status, 404);
  for (const text of ['', ' \n', 'x'.repeat(LIMITS.maxGroupNoteLength + 1), '\u001b[2J'])
    assert.equal((await send<ErrorResponse>('POST', 'notes', { text })).headers['svc-error-code'], 'bad-body');
  for (let n = 1; n < LIMITS.maxGroupNotes; n++) await send('POST', 'notes', { text: `note ${n}` });
  const full = await send<ErrorResponse>('POST', 'notes', { text: 'one more' });
  assert.deepEqual([full.status, full.body.error], [409, 'a group has at most 20 notes; delete one first']);
});

test('the audit log records each change, without the text of notes', async () => {
  const entries = await harness.store.accounts.listAudit({ accountIds: ['usr_ann'], after: null, limit: 99 });
  const actions = new Set(entries.map(({ action }) => action));
  for (const kind of ['assign', 'snooze', 'add-note', 'delete-note']) assert.ok(actions.has(`dead-letter-group.${kind}`), kind);
  assert.ok(!JSON.stringify(entries).includes('provider'));
});
