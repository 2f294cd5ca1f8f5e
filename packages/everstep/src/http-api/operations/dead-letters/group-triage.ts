/** Operations for the triage of dead letter groups: assignee, snooze and notes. */
import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import {
  AssignDeadLetterGroup,
  DeadLetterAssignees,
  DeadLetterGroup,
  NoteText,
  SnoozeDeadLetterGroup,
} from '../../../contract/dead-letter-groups.js';
import { ApiError } from '../../../contract/error-codes.js';
import { patternOption } from '../../../contract/patterns.js';
import { WRITES_OWN_ENTRY } from '../../audited/audit-rule.js';
import { type Operation, operation, respond } from '../../operation.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { Fingerprint } from '../filters.js';
import { markGroup } from './group-changes.js';

const DAY_MS = 86_400_000;
const PATH = '/v2/workflows/dlq/groups/{fingerprint}';
const GroupFingerprint = Fingerprint('Fingerprint of the group.');
const commonSettings = {
  audit: WRITES_OWN_ENTRY,
  tag: 'Dead letter queue',
  unknownQuery: 'refuse',
  pathParameters: Type.Object({ fingerprint: GroupFingerprint }),
  responses: { 200: DeadLetterGroup },
} as const;

const missingBody = (): ApiError => new ApiError('bad-body', 'the request body is missing; send a JSON object');

const assign = operation({
  ...commonSettings,
  operationId: 'assignDeadLetterGroup',
  summary: 'Assign a dead letter group',
  description: 'Sets or removes the user who works on the group. Replaces an earlier assignment. Does not change its entries.',
  method: 'PUT',
  path: `${PATH}/assignee`,
  body: { kind: 'json', required: true, schema: AssignDeadLetterGroup },
  errors: ['bad-parameter', 'bad-body', 'not-found'],
  async handle({ path, body, request }, context, caller) {
    if (!body) throw missingBody();
    const assignee = body.assignee?.toLowerCase() ?? null;
    if (assignee !== null && !(await context.accounts.usersOf(caller.instanceId)).includes(assignee))
      throw new ApiError('bad-body', `"assignee" must be a user with access to this queue instance; got ${quoteValue(assignee)}`);
    const change = { kind: 'assign', assignee } as const;
    return respond(200, await markGroup({ ...path, change, details: { assignee }, request }, context, caller));
  },
});

const snooze = operation({
  ...commonSettings,
  operationId: 'snoozeDeadLetterGroup',
  summary: 'Snooze a dead letter group',
  description:
    'Until the given time, the group needs no attention and raises no alert; its open alerts end. The snooze ends early when the group is acknowledged, resolved or regresses. After that time, the group needs attention until it is acknowledged, resolved or snoozed again, and its next failure raises an alert. Does not change its entries.',
  method: 'PUT',
  path: `${PATH}/snooze`,
  body: { kind: 'json', required: true, schema: SnoozeDeadLetterGroup },
  errors: ['bad-parameter', 'bad-body', 'not-found'],
  async handle({ path, body, request }, context, caller) {
    if (!body) throw missingBody();
    const { until } = body;
    const now = context.service.now();
    if (until !== null && (until <= now || until - now > LIMITS.maxSnoozeMs))
      throw new ApiError('bad-body', `"until" must be in the future, at most ${LIMITS.maxSnoozeMs / DAY_MS} days from now`);
    const change = { kind: 'snooze', until } as const;
    return respond(200, await markGroup({ ...path, change, details: { until }, request }, context, caller));
  },
});

const addNote = operation({
  ...commonSettings,
  operationId: 'addDeadLetterGroupNote',
  summary: 'Add a note to a dead letter group',
  description: `A group has at most ${LIMITS.maxGroupNotes} notes of at most ${LIMITS.maxGroupNoteLength} characters. Notes are deleted with the group, a month after its last entry.`,
  method: 'POST',
  path: `${PATH}/notes`,
  body: { kind: 'json', required: true, schema: NoteText },
  errors: ['bad-parameter', 'bad-body', 'not-found', 'conflict'],
  async handle({ path, body, request }, context, caller) {
    if (!body) throw missingBody();
    const noteId = context.service.newId('nte');
    const change = { kind: 'add-note', noteId, text: body.text } as const;
    return respond(200, await markGroup({ ...path, change, details: { noteId }, request }, context, caller));
  },
});

const deleteNote = operation({
  ...commonSettings,
  operationId: 'deleteDeadLetterGroupNote',
  summary: 'Delete a note of a dead letter group',
  description: 'The note cannot be restored.',
  method: 'DELETE',
  path: `${PATH}/notes/{noteId}`,
  pathParameters: Type.Object({
    fingerprint: GroupFingerprint,
    noteId: Type.String({ maxLength: LIMITS.maxRecordIdLength, ...patternOption('id'), description: 'Id of the note.' }),
  }),
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { fingerprint, noteId }, request }, context, caller) {
    const change = { kind: 'delete-note', noteId } as const;
    return respond(200, await markGroup({ fingerprint, change, details: { noteId }, request }, context, caller));
  },
});

const listAssignees = operation({
  operationId: 'listDeadLetterAssignees',
  tag: commonSettings.tag,
  summary: 'List users who can be assigned',
  description: 'Returns the users with access to the queue instance. Requires a token that can write.',
  method: 'GET',
  path: '/v2/workflows/dlq/assignees',
  unknownQuery: 'refuse',
  needsReadWrite: true,
  responses: { 200: DeadLetterAssignees },
  errors: ['bad-parameter'],
  handle: async (_input, { accounts }, { instanceId }) => respond(200, { assignees: [...(await accounts.usersOf(instanceId))] }),
});

export const triageOperations: readonly Operation[] = [listAssignees, assign, snooze, addNote, deleteNote];
