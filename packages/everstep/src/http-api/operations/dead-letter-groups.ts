/** Groups of dead letters that failed alike: listed, and marked by those who look after them. */

import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { DeadLetterGroup, DeadLetterGroupPage, GROUP_KINDS, GroupStateSchema } from '../../contract/dead-letter-groups.js';
import { ApiError } from '../../contract/error-codes.js';
import type { GroupMark } from '../../ports/dead-letter-groups.js';
import { OWN_ENTRY } from '../audited/audit-rule.js';
import { answer, type Operation, operation } from '../operation.js';
import { AnyOf } from '../parameters/several.js';
import { shown } from '../parameters/unacceptable.js';
import { Cursor, UnixMs } from '../parameters/values.js';
import { presentGroup } from '../presenters/dead-letter-group.js';
import { deadLetterFilters, Fingerprint, isEmptyRange } from './filters.js';

const TAG = 'Dead letter queue';
const PATH = '/v2/workflows/dlq/groups';
const GroupPath = Type.Object({ fingerprint: Fingerprint('Fingerprint of the group') });

const noSuchGroup = (fingerprint: string): ApiError =>
  new ApiError('not-found', `there is no group ${shown(fingerprint)}: no entry of it was there in the last month`);

const listGroups = operation({
  operationId: 'listDeadLetterGroups',
  tag: TAG,
  summary: 'List the dead letter queue by what went wrong',
  description:
    'Failed runs with the same step, status and normalised message are one group. Regressed groups first, then new ones, then known ones; within them those that were seen last first. The cursor is empty when there are no more results. Unknown parameters are ignored.',
  method: 'GET',
  path: PATH,
  unknownQuery: 'ignore',
  query: Type.Object({
    cursor: Type.Optional(Cursor('Returns the next page, with the same filters; empty begins a listing.')),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.groupsPageMax,
        default: LIMITS.groupsPageDefault,
        description: 'Groups per page.',
      }),
    ),
    state: Type.Optional(AnyOf(GroupStateSchema, 'State of the group')),
    workflowUrl: deadLetterFilters.workflowUrl,
    fromDate: Type.Optional(UnixMs('Groups that were seen last at or after this time, Unix ms')),
    toDate: Type.Optional(UnixMs('Groups that were seen first at or before this time, Unix ms')),
    kind: Type.Optional(
      Type.Enum([...GROUP_KINDS], {
        type: 'string',
        default: 'workflow',
        description: 'Groups of runs of workflows, or of plain messages.',
      }),
    ),
    withEmpty: Type.Optional(
      Type.Boolean({ default: false, description: 'Also those whose entries have all left the queue in the last month.' }),
    ),
  }),
  responses: { 200: DeadLetterGroupPage },
  errors: ['bad-parameter', 'bad-cursor'],
  async handle({ query }, { store, service, cursors }, { instanceId }) {
    const { cursor: given, count, ...asked } = query;
    const scope = { operation: 'dlq-groups', instanceId, filters: asked };
    const begun = given === undefined || given === '' ? null : await cursors.open(scope, given);
    if (isEmptyRange(asked)) return answer(200, { cursor: '', groups: [] });
    // States follow from the time, so all pages are of that of the first one.
    const now = begun?.horizon ? Number(begun.horizon) : service.now();
    const { items, next } = await store.deadLetterGroups.list({
      instanceId,
      filter: {
        kind: asked.kind ?? 'workflow',
        states: asked.state,
        workflowUrls: asked.workflowUrl,
        fromDate: asked.fromDate,
        toDate: asked.toDate,
        withEmpty: asked.withEmpty === true,
      },
      now,
      after: begun?.after ?? null,
      limit: count ?? LIMITS.groupsPageDefault,
    });
    const cursor = next === null ? '' : await cursors.seal(scope, { after: next, horizon: String(now), left: null });
    return answer(200, { cursor, groups: items.map((group) => presentGroup(group, now)) });
  },
});

const getGroup = operation({
  operationId: 'getDeadLetterGroup',
  tag: TAG,
  summary: 'Get one group of failed runs',
  description: 'Also one without entries, for a month after its last one.',
  method: 'GET',
  path: `${PATH}/{fingerprint}`,
  unknownQuery: 'ignore',
  pathParameters: GroupPath,
  responses: { 200: DeadLetterGroup },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { fingerprint } }, { store, service }, { instanceId }) {
    const now = service.now();
    const group = await store.deadLetterGroups.find({ instanceId, fingerprint, now });
    if (!group) throw noSuchGroup(fingerprint);
    return answer(200, presentGroup(group, now));
  },
});

const MARKS = {
  acknowledge: {
    operationId: 'acknowledgeDeadLetterGroup',
    summary: 'Acknowledge a group of failed runs',
    description: 'Somebody knows of it: it is neither new nor regressed any more. Changes no entry.',
  },
  resolve: {
    operationId: 'resolveDeadLetterGroup',
    summary: 'Resolve a group of failed runs',
    description:
      'Its cause is mended: the group is regressed as soon as another entry comes. Acknowledges it as well, where nobody has. Changes no entry.',
  },
} as const;

const mark = (kind: GroupMark['kind']): Operation =>
  operation({
    ...MARKS[kind],
    audit: OWN_ENTRY,
    tag: TAG,
    method: 'POST',
    path: `${PATH}/{fingerprint}/${kind}`,
    unknownQuery: 'refuse',
    pathParameters: GroupPath,
    responses: { 200: DeadLetterGroup },
    errors: ['bad-parameter', 'not-found'],
    async handle({ path: { fingerprint }, request }, { store, service, authority }, { instanceId, actor, access }) {
      const now = service.now();
      const audit = await authority.auditEntry(instanceId, {
        actor,
        address: request.callerIp,
        action: `dead-letter-group.${kind}`,
        subject: fingerprint,
        details: { instanceId, access },
      });
      const { deadLetterGroups } = store;
      const marked = await deadLetterGroups.mark({ instanceId, fingerprint, mark: { kind, at: now, by: actor }, audit });
      if (marked) service.changed({ instanceId, topic: 'dlq' });
      const group = marked ? await deadLetterGroups.find({ instanceId, fingerprint, now }) : null;
      if (!group) throw noSuchGroup(fingerprint);
      return answer(200, presentGroup(group, now));
    },
  });

export const groupOperations: readonly Operation[] = [listGroups, getGroup, mark('acknowledge'), mark('resolve')];
