/** Cancels runs by filter. */

import Type, { type Static } from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { NO_OTHER_PROPERTIES } from '../../../contract/fields/no-other-properties.js';
import { oneOrMoreFilters } from '../../../contract/filters/body-filters.js';
import { CANCEL_FILTERS } from '../../../contract/filters/run-filters.js';
import { CanceledRuns } from '../../../contract/runs.js';
import type { RunFilter, RunRecord } from '../../../ports/stores/store.js';
import { bulkChange } from '../../audited/audit-rule.js';
import { type ApiContext, operation, respond } from '../../operation.js';
import { storeFilterOf } from '../../parameters/filters.js';
import { Text } from '../../parameters/values.js';
import { isEmptyRange } from '../filters.js';

/** Number of runs that are read and canceled at a time. */
const PAGE_SIZE = 100;

const CancelFilter = Type.Object(
  {
    workflowRunIds: Type.Optional(
      Type.Array(Text(LIMITS.maxRunIdLength, {}), {
        minItems: 1,
        maxItems: LIMITS.maxFilterValues,
        description: 'Ids of the runs. Runs that are not active are ignored.',
      }),
    ),
    workflowUrl: Type.Optional(
      Text(LIMITS.maxWorkflowUrlLength, {
        description: 'Prefix of the workflow URL, or the whole URL if `workflowUrlExactMatch` is true.',
      }),
    ),
    workflowUrlExactMatch: Type.Optional(Type.Boolean({ description: 'Whether workflowUrl must match exactly.' })),
    ...oneOrMoreFilters(CANCEL_FILTERS),
  },
  NO_OTHER_PROPERTIES,
);
type CancelFilter = Static<typeof CancelFilter>;

function runFilterOf(filter: CancelFilter): RunFilter {
  const { workflowUrl, workflowUrlExactMatch: isExact } = filter;
  return {
    statuses: ['active'],
    workflowUrls: isExact && workflowUrl !== undefined ? [workflowUrl] : undefined,
    workflowUrlPrefix: isExact ? undefined : workflowUrl,
    ...storeFilterOf(CANCEL_FILTERS, filter),
  };
}

/** Limits a cancellation to some of the matching runs. */
export interface CancelBounds {
  /** Maximum number of runs. Default: all matching runs. */
  readonly maxRuns?: number;
  /** Returns whether a run is canceled. Null cancels all matching runs. */
  readonly isSelected?: ((run: RunRecord) => boolean) | null;
}

/**
 * Cancels matching runs page by page and returns the number of canceled runs. Runs that are created after the call are not
 * canceled.
 */
export async function cancelMatchingRuns(
  filter: RunFilter,
  { reads, service }: ApiContext,
  instanceId: string,
  { maxRuns: max = Number.POSITIVE_INFINITY, isSelected = null }: CancelBounds = {},
): Promise<number> {
  const horizon = await reads.runs.runHorizon({ instanceId });
  let canceledCount = 0;
  let after: string | null = null;
  do {
    const limit = Math.min(PAGE_SIZE, max - canceledCount);
    const page = await reads.runs.listRuns({ instanceId, filter, order: 'oldest-first', after, horizon, limit });
    const runKeys = (isSelected ? page.items.filter(isSelected) : page.items).map(({ key }) => key);
    if (runKeys.length > 0) canceledCount += await service.runs.cancelAll({ runKeys });
    after = page.next;
  } while (after !== null && canceledCount < max);
  return canceledCount;
}

export const cancelRuns = operation({
  operationId: 'cancelRuns',
  audit: bulkChange('run.cancel-many'),
  tag: 'Runs',
  summary: 'Cancel multiple runs',
  description:
    'Cancels the active runs that match all given fields. A body without fields, or with an unknown field, is rejected with 400. To cancel everything, send a field that matches all runs, such as `fromDate: 0`.',
  method: 'DELETE',
  path: '/v2/workflows/runs',
  unknownQuery: 'refuse',
  body: { kind: 'json', required: true, schema: CancelFilter },
  responses: { 200: CanceledRuns },
  errors: ['bad-parameter', 'bad-body', 'unsupported-media-type'],
  async handle({ body = {} }, context, { instanceId }) {
    const { workflowUrlExactMatch, ...fields } = body;
    if (workflowUrlExactMatch !== undefined && body.workflowUrl === undefined)
      throw new ApiError('bad-body', '"workflowUrlExactMatch" requires "workflowUrl", which is missing');
    if (Object.keys(fields).length === 0)
      throw new ApiError(
        'bad-body',
        'the body contains no filter; give "workflowRunIds" or another field, or send {"fromDate": 0} to cancel all active runs',
      );
    if (isEmptyRange(body)) return respond(200, { cancelled: 0 });
    const filter = runFilterOf(body);
    if (!body.workflowRunIds) return respond(200, { cancelled: await cancelMatchingRuns(filter, context, instanceId) });
    let canceledCount = 0;
    for (const workflowRunId of new Set(body.workflowRunIds))
      canceledCount += await cancelMatchingRuns({ ...filter, workflowRunId }, context, instanceId);
    return respond(200, { cancelled: canceledCount });
  },
});
