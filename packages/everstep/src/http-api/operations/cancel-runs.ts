/** Canceling many runs. */

import Type, { type Static } from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import { Cancelled } from '../../contract/runs.js';
import type { RunFilter, RunRecord } from '../../ports/store.js';
import { bulkChange } from '../audited/audit-rule.js';
import { type ApiContext, answer, operation } from '../operation.js';
import { Text, UnixMs } from '../parameters/values.js';
import { isEmptyRange, MAX_IP_LENGTH } from './filters.js';

/** Runs that are canceled in one turn. */
const PAGE = 100;

const oneOrMore = (maxLength: number, description: string) =>
  Type.Optional(
    Type.Union([Text(maxLength, {}), Type.Array(Text(maxLength, {}), { minItems: 1, maxItems: LIMITS.maxFilterValues })], {
      description: `${description}: one, or any of several`,
    }),
  );

const CancelFilter = Type.Object(
  {
    workflowRunIds: Type.Optional(
      Type.Array(Text(LIMITS.maxRunIdLength, {}), {
        minItems: 1,
        maxItems: LIMITS.maxFilterValues,
        description: 'IDs of runs; those that are not active are left alone.',
      }),
    ),
    workflowUrl: Type.Optional(
      Text(LIMITS.maxWorkflowUrlLength, { description: 'What the workflow URL begins with, or is, with workflowUrlExactMatch.' }),
    ),
    workflowUrlExactMatch: Type.Optional(Type.Boolean()),
    label: oneOrMore(LIMITS.maxLabelLength, 'Label of the run'),
    flowControlKey: oneOrMore(LIMITS.maxFlowControlKeyLength, 'Flow control key'),
    callerIp: oneOrMore(MAX_IP_LENGTH, 'IP address of the publisher'),
    workflowCreatedAt: Type.Optional(UnixMs('Creation of the run, Unix ms')),
    fromDate: Type.Optional(UnixMs('Runs created at or after this time, Unix ms')),
    toDate: Type.Optional(UnixMs('Runs created at or before this time, Unix ms')),
  },
  { additionalProperties: false },
);
type CancelFilter = Static<typeof CancelFilter>;

const several = (value: string | readonly string[] | undefined): readonly string[] | undefined =>
  typeof value === 'string' ? [value] : value;

function storeFilterOf(asked: CancelFilter): RunFilter {
  const { workflowUrl, workflowUrlExactMatch: exact } = asked;
  return {
    statuses: ['active'],
    workflowUrls: exact && workflowUrl !== undefined ? [workflowUrl] : undefined,
    workflowUrlPrefix: exact ? undefined : workflowUrl,
    createdAt: asked.workflowCreatedAt,
    fromDate: asked.fromDate,
    toDate: asked.toDate,
    labels: several(asked.label),
    flowControlKeys: several(asked.flowControlKey),
    callerIps: several(asked.callerIp),
  };
}

export interface CancelBounds {
  /** At most so many; all of them when absent. */
  readonly most?: number;
  /** Those alone for which it is true; null for all. */
  readonly only?: ((run: RunRecord) => boolean) | null;
}

/** By page, because a filter may hit very many; runs that are created meanwhile are left alone. How many were canceled. */
export async function cancelMatching(
  filter: RunFilter,
  { store, service }: ApiContext,
  instanceId: string,
  { most = Number.POSITIVE_INFINITY, only = null }: CancelBounds = {},
): Promise<number> {
  const horizon = await store.runHorizon({ instanceId });
  let cancelled = 0;
  let after: string | null = null;
  do {
    const limit = Math.min(PAGE, most - cancelled);
    const page = await store.listRuns({ instanceId, filter, order: 'oldest-first', after, horizon, limit });
    const runKeys = (only ? page.items.filter(only) : page.items).map(({ key }) => key);
    if (runKeys.length > 0) cancelled += await service.cancelRuns({ instanceId, runKeys });
    after = page.next;
  } while (after !== null && cancelled < most);
  return cancelled;
}

export const cancelRuns = operation({
  operationId: 'cancelRuns',
  audit: bulkChange('run.cancel-many'),
  tag: 'Runs',
  summary: 'Cancel many runs',
  description:
    'Cancels the active runs that match every given field. Without any field nothing is canceled: that is refused with 400, as is an unknown field. To cancel everything, say so with a field such as fromDate: 0.',
  method: 'DELETE',
  path: '/v2/workflows/runs',
  unknownQuery: 'refuse',
  body: { kind: 'json', required: true, schema: CancelFilter },
  responses: { 200: Cancelled },
  errors: ['bad-parameter', 'bad-body', 'unsupported-media-type'],
  async handle({ body = {} }, context, { instanceId }) {
    const { workflowUrlExactMatch, ...fields } = body;
    if (workflowUrlExactMatch !== undefined && body.workflowUrl === undefined)
      throw new ApiError('bad-body', 'workflowUrlExactMatch needs workflowUrl');
    if (Object.keys(fields).length === 0)
      throw new ApiError(
        'bad-body',
        'canceling needs workflowRunIds or another field; to cancel everything, send {"fromDate": 0}',
      );
    if (isEmptyRange(body)) return answer(200, { cancelled: 0 });
    const filter = storeFilterOf(body);
    if (!body.workflowRunIds) return answer(200, { cancelled: await cancelMatching(filter, context, instanceId) });
    let cancelled = 0;
    for (const workflowRunId of new Set(body.workflowRunIds))
      cancelled += await cancelMatching({ ...filter, workflowRunId }, context, instanceId);
    return answer(200, { cancelled });
  },
});
