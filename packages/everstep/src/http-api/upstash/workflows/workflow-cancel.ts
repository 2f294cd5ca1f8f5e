/** Bulk cancellation of runs in this dialect. */

import Type, { type Static, type StaticDecode } from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { NO_OTHER_PROPERTIES } from '../../../contract/fields/no-other-properties.js';
import { oneOrMoreFilters } from '../../../contract/filters/body-filters.js';
import type { OneOrMoreFilters } from '../../../contract/filters/filter.js';
import { CANCEL_FILTERS } from '../../../contract/filters/run-filters.js';
import { CanceledRuns } from '../../../contract/runs.js';
import type { RunFilter } from '../../../ports/stores/store.js';
import { bulkChange } from '../../audited/audit-rule.js';
import { type ApiContext, operation, respond } from '../../operation.js';
import { isEmptyRange } from '../../operations/filters.js';
import { cancelMatchingRuns } from '../../operations/runs/cancel-runs.js';
import { queryFilters, storeFilterOf } from '../../parameters/filters.js';
import { AnyOf } from '../../parameters/multi-value.js';
import { Text } from '../../parameters/values.js';
import { urlPartFilters, urlPartPredicate } from './run-filters.js';

// An id chosen by a client can contain a comma.
const RunIds = AnyOf(Text(LIMITS.maxRunIdLength, {}), 'Ids of runs. Runs that are not active are skipped.', 'may-be-inside');
const WorkflowUrls = AnyOf(
  Text(LIMITS.maxWorkflowUrlLength, {}),
  'Prefix of the workflow URL, or the whole URL with workflowUrlExactMatch',
  'before-a-url',
);

const CancelQuery = Type.Object({
  workflowRunIds: Type.Optional(RunIds),
  workflowUrl: Type.Optional(WorkflowUrls),
  workflowUrlExactMatch: Type.Optional(
    Type.Boolean({ description: 'Whether `workflowUrl` is the whole URL. Default: it is a prefix.' }),
  ),
  ...urlPartFilters,
  ...queryFilters(CANCEL_FILTERS),
  count: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'Maximum number of runs to cancel. Without other filters, this many of all active runs are canceled.',
    }),
  ),
});
type CancelQuery = StaticDecode<typeof CancelQuery>;

const oneOrMore = <Schema extends ReturnType<typeof Text>>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Array(schema, { minItems: 1, maxItems: LIMITS.maxFilterValues })]));
const { count, workflowUrlExactMatch } = CancelQuery.properties;
const CancelBody = Type.Object(
  {
    workflowRunIds: Type.Optional(Type.Array(Text(LIMITS.maxRunIdLength, {}), { minItems: 1, maxItems: LIMITS.maxFilterValues })),
    workflowUrl: oneOrMore(Text(LIMITS.maxWorkflowUrlLength, {})),
    workflowUrlExactMatch,
    host: oneOrMore(Text(LIMITS.maxWorkflowUrlLength, {})),
    path: oneOrMore(Text(LIMITS.maxWorkflowUrlLength, {})),
    ...oneOrMoreFilters(CANCEL_FILTERS),
    count,
  },
  { ...NO_OTHER_PROPERTIES, description: 'The same filters as the query parameters. {} cancels all active runs.' },
);
type CancelBody = Static<typeof CancelBody>;

const toArray = (value: string | string[] | undefined): string[] | undefined => (typeof value === 'string' ? [value] : value);

/** Filters of the query or of the body. */
type CancelFilters = Omit<CancelQuery, keyof typeof CANCEL_FILTERS> & OneOrMoreFilters<typeof CANCEL_FILTERS>;

const filtersOf = ({ workflowUrl, host, path, ...rest }: CancelBody): CancelFilters => ({
  ...rest,
  workflowUrl: toArray(workflowUrl),
  host: toArray(host),
  path: toArray(path),
});

/** Returns the filters whose union selects the runs. A run that matches several of them is canceled once. */
function storeFiltersOf(filters: CancelFilters): readonly RunFilter[] {
  const { workflowUrl: urlFilter, workflowUrlExactMatch: isExact = false } = filters;
  const baseFilter: RunFilter = {
    statuses: ['active'],
    ...storeFilterOf(CANCEL_FILTERS, filters),
    ...(isExact && urlFilter ? { workflowUrls: urlFilter } : {}),
  };
  const urlFilters: readonly RunFilter[] =
    urlFilter && !isExact ? urlFilter.map((workflowUrlPrefix) => ({ ...baseFilter, workflowUrlPrefix })) : [baseFilter];
  if (!filters.workflowRunIds) return urlFilters;
  return [...new Set(filters.workflowRunIds)].flatMap((workflowRunId) =>
    urlFilters.map((filter) => ({ ...filter, workflowRunId })),
  );
}

async function cancelAll(filters: CancelFilters, context: ApiContext, instanceId: string): Promise<number> {
  let remaining = filters.count ?? Number.POSITIVE_INFINITY;
  let canceledTotal = 0;
  for (const filter of storeFiltersOf(filters)) {
    if (remaining <= 0) break;
    const canceledCount = await cancelMatchingRuns(filter, context, instanceId, {
      maxRuns: remaining,
      isSelected: urlPartPredicate(filters),
    });
    canceledTotal += canceledCount;
    remaining -= canceledCount;
  }
  return canceledTotal;
}

export const cancelWorkflowRuns = operation({
  operationId: 'cancelWorkflowRuns',
  audit: bulkChange('run.cancel-many'),
  tag: 'Runs',
  summary: 'Cancel many runs',
  description:
    'Cancels the active runs that match every filter. Filters are in the query or in the body. A request without a filter and without a count is rejected. An unknown parameter is rejected, because a misspelled filter would match everything.',
  method: 'DELETE',
  path: '/v2/workflows/runs',
  dialect: 'upstash',
  // The SDK sends no prefixed header.
  ownParameters: ['workflowRunIds'],
  unknownQuery: 'refuse',
  query: CancelQuery,
  body: { kind: 'json', required: false, schema: CancelBody },
  responses: { 200: CanceledRuns },
  errors: ['bad-parameter', 'bad-body', 'unsupported-media-type'],
  async handle({ query, body }, context, { instanceId }) {
    const hasQueryFilters = Object.values(query).some((value) => value !== undefined);
    if (hasQueryFilters && body)
      throw new ApiError('bad-body', 'filters are in both the query and the body; send them in one place');
    if (!hasQueryFilters && !body)
      throw new ApiError('bad-parameter', 'specify workflowRunIds, a filter or a count; to cancel everything, send a count');
    const filters = body ? filtersOf(body) : query;
    if (filters.workflowUrlExactMatch !== undefined && filters.workflowUrl === undefined)
      throw new ApiError('bad-parameter', 'workflowUrlExactMatch requires workflowUrl');
    if (isEmptyRange(filters)) return respond(200, { cancelled: 0 });
    return respond(200, { cancelled: await cancelAll(filters, context, instanceId) });
  },
});
