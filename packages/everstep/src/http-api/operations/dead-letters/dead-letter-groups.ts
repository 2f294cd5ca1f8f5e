/** Groups of dead letters with the same error: list them, acknowledge them and resolve them. */

import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { DeadLetterGroup, DeadLetterGroupPage, GROUP_KINDS, GroupStateSchema } from '../../../contract/dead-letter-groups.js';
import { WRITES_OWN_ENTRY } from '../../audited/audit-rule.js';
import { type Operation, operation, respond } from '../../operation.js';
import { AnyOf } from '../../parameters/multi-value.js';
import { Cursor, UnixMs } from '../../parameters/values.js';
import { presentGroup, presentTotals } from '../../presenters/dead-letter-group.js';
import { deadLetterQuery, Fingerprint, isEmptyRange } from '../filters.js';
import { groupNotFound, markGroup } from './group-changes.js';
import { triageOperations } from './group-triage.js';

const TAG = 'Dead letter queue';
const PATH = '/v2/workflows/dlq/groups';
const GroupPath = Type.Object({ fingerprint: Fingerprint('Fingerprint of the group.') });

const listGroups = operation({
  operationId: 'listDeadLetterGroups',
  tag: TAG,
  summary: 'List dead letter groups',
  description:
    'A group contains the failed runs with the same step, status and normalized message. Regressed groups come first, then new groups, then known groups. Groups in the same state are sorted by `lastSeenAt`, newest first. The cursor is empty when there are no more results. Unknown parameters are ignored.',
  method: 'GET',
  path: PATH,
  unknownQuery: 'ignore',
  query: Type.Object({
    cursor: Type.Optional(Cursor('Cursor from the previous page, with the same filters. Omit it for the first page.')),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.groupsPageMax,
        default: LIMITS.groupsPageDefault,
        description: 'Maximum number of groups per page.',
      }),
    ),
    state: Type.Optional(AnyOf(GroupStateSchema, 'State of the group')),
    workflowUrl: deadLetterQuery.workflowUrl,
    fromDate: Type.Optional(UnixMs('Only groups that were last seen at or after this time, in Unix milliseconds.')),
    toDate: Type.Optional(UnixMs('Only groups that were first seen at or before this time, in Unix milliseconds.')),
    kind: Type.Optional(
      Type.Enum([...GROUP_KINDS], {
        type: 'string',
        default: 'workflow',
        description: 'Whether to list groups of workflow runs or of plain messages.',
      }),
    ),
    withEmpty: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Includes groups whose entries have all left the queue within the last month.',
      }),
    ),
  }),
  responses: { 200: DeadLetterGroupPage },
  errors: ['bad-parameter', 'bad-cursor'],
  async handle({ query }, { reads, service, cursors }, { instanceId }) {
    const { cursor: cursorText, count, ...filterQuery } = query;
    const scope = { operation: 'dlq-groups', instanceId, filters: filterQuery };
    const cursorState = cursorText === undefined || cursorText === '' ? null : await cursors.open(scope, cursorText);
    const kind = filterQuery.kind ?? 'workflow';
    const totals = presentTotals(await reads.deadLetterGroups.totals({ instanceId, kind, now: service.now() }));
    if (isEmptyRange(filterQuery)) return respond(200, { cursor: '', groups: [], totals });
    // Group states depend on the time, so all pages use the time of the first page.
    const now = cursorState?.horizon ? Number(cursorState.horizon) : service.now();
    const { items, next } = await reads.deadLetterGroups.list({
      instanceId,
      filter: {
        kind,
        states: filterQuery.state,
        workflowUrls: filterQuery.workflowUrl,
        fromDate: filterQuery.fromDate,
        toDate: filterQuery.toDate,
        withEmpty: filterQuery.withEmpty === true,
      },
      now,
      after: cursorState?.after ?? null,
      limit: count ?? LIMITS.groupsPageDefault,
    });
    const cursor = next === null ? '' : await cursors.seal(scope, { after: next, horizon: String(now), remaining: null });
    return respond(200, { cursor, groups: items.map((group) => presentGroup(group, now, 'newest')), totals });
  },
});

const getGroup = operation({
  operationId: 'getDeadLetterGroup',
  tag: TAG,
  summary: 'Get a dead letter group',
  description: 'A group without entries can be read for a month after its last entry.',
  method: 'GET',
  path: `${PATH}/{fingerprint}`,
  unknownQuery: 'ignore',
  pathParameters: GroupPath,
  responses: { 200: DeadLetterGroup },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { fingerprint } }, { reads, service }, { instanceId }) {
    const now = service.now();
    const group = await reads.deadLetterGroups.find({ instanceId, fingerprint, now });
    if (!group) throw groupNotFound(fingerprint);
    return respond(200, presentGroup(group, now, 'all'));
  },
});

const MARKS = {
  acknowledge: {
    operationId: 'acknowledgeDeadLetterGroup',
    summary: 'Acknowledge a dead letter group',
    description: 'Marks the group as known: it is no longer new or regressed. Ends its snooze. Does not change its entries.',
  },
  resolve: {
    operationId: 'resolveDeadLetterGroup',
    summary: 'Resolve a dead letter group',
    description:
      'Marks the error as fixed: the group becomes regressed when another entry arrives. Also acknowledges the group if it is not acknowledged, and ends its snooze. Does not change its entries.',
  },
} as const;

const markOperation = (kind: keyof typeof MARKS): Operation =>
  operation({
    ...MARKS[kind],
    audit: WRITES_OWN_ENTRY,
    tag: TAG,
    method: 'POST',
    path: `${PATH}/{fingerprint}/${kind}`,
    unknownQuery: 'refuse',
    pathParameters: GroupPath,
    responses: { 200: DeadLetterGroup },
    errors: ['bad-parameter', 'not-found'],
    handle: async ({ path: { fingerprint }, request }, context, caller) =>
      respond(200, await markGroup({ fingerprint, change: { kind }, request }, context, caller)),
  });

export const groupOperations: readonly Operation[] = [
  listGroups,
  getGroup,
  markOperation('acknowledge'),
  markOperation('resolve'),
  ...triageOperations,
];
