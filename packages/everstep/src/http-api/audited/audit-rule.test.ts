import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dashboardOperations } from '../dashboard/index.js';
import { MANAGEMENT_OPERATIONS } from '../management/index.js';
import type { Operation } from '../operation.js';
import { OPERATIONS } from '../operations/index.js';
import { SEARCH_OPERATIONS } from '../search/index.js';
import { UPSTASH_MANAGEMENT_OPERATIONS, UPSTASH_OPERATIONS } from '../upstash/index.js';

const ALL: readonly Operation[] = [
  ...OPERATIONS,
  ...SEARCH_OPERATIONS,
  ...MANAGEMENT_OPERATIONS,
  ...UPSTASH_OPERATIONS,
  ...UPSTASH_MANAGEMENT_OPERATIONS,
  ...dashboardOperations(null),
];

/** Operations other than GET without an audit log entry. Each addition requires a reason in `docs/operations/audit.md`. */
const NOT_AUDITED = [
  ...['advanceClock', 'settleClock', 'checkDeadLetters', 'linkIdentity'],
  ...['triggerRun', 'triggerRuns', 'startWorkflow', 'publish', 'publishBatch', 'enqueueMessage'],
  ...['notifyEvent', 'notifyRun', 'notifyWorkflows', 'notifyWorkflowRun', 'waitForEvent'],
  ...['callWebhook', 'callWebhookByPut', 'callWebhookByPatch', 'callWebhookByDelete'],
  ...['callHook', 'callHookByPut', 'callHookByPatch', 'callHookByDelete'],
  ...['searchDocuments', 'getDocuments', 'listDocuments', 'listNamespaces', 'getIndexInfo'],
];
/** Operations whose responses contain secrets. */
const SHOWS_SECRETS = [
  ...['getSigningKeys', 'getSignatureSettings', 'listInstances', 'getInstance', 'listQStashUsers', 'getQStashUser'],
];

const idsOf = (operations: readonly Operation[]): readonly string[] => operations.map(({ operationId }) => operationId).sort();

test('every operation other than GET is audited or listed as not audited', () => {
  const changing = ALL.filter(({ method }) => method !== 'GET');
  assert.deepEqual(idsOf(changing.filter(({ audit }) => audit === undefined)), [], 'each operation declares its audit rule');
  assert.deepEqual(idsOf(changing.filter(({ audit }) => audit?.kind === 'none')), [...NOT_AUDITED].sort());
});

test('a GET is audited if and only if it shows a secret', () => {
  const reading = ALL.filter(({ method, audit }) => method === 'GET' && audit !== undefined && audit.kind !== 'none');
  assert.deepEqual(idsOf(reading), [...SHOWS_SECRETS].sort());
  for (const { operationId, audit } of reading) assert.equal(audit?.kind, 'secret-read', operationId);
});
