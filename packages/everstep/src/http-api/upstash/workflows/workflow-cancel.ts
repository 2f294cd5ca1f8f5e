/** Bulk cancellation of runs in this dialect. */

import Type, { type Static, type StaticDecode } from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { oneOrMoreFilters } from '../../../contract/filters/body-filters.js';
import type { OneOrMoreFilters } from '../../../contract/filters/filter.js';
import { CANCEL_FILTERS } from '../../../contract/filters/run-filters.js';
import { CanceledRuns } from '../../../contract/runs.js';
import type { RunFilter } from '../../../ports/stores/store.js';
import { bulkChange } from '../../audited/audit-rule.js';
import { type ApiContext, operation, respond } from '../../operation.js';
import { isEmptyRange } from '../../operations/filters.js';
import { cancelMatching } from '../../operations/runs/cancel-runs.js';
import { queryFilters, storeFilterOf } from '../../parameters/filters.js';
import { AnyOf } from '../../parameters/multi-value.js';
import { Text } from '../../parameters/values.js';
import { matchesUrlParts, urlPartFilters } from './run-filters.js';

// An id chosen by a client can contain a comma.
const ids = AnyOf(Text(LIMITS.maxRunIdLength, {}), 'Ids of runs. Runs that are not active are skipped.', 'may-be-inside');
const urls = AnyOf(
  Text(LIMITS.maxWorkflowUrlLength, {}),
  'Prefix of the workflow URL, or the whole URL with workflowUrlExactMatch',
  'before-a-url',
);

const CancelQuery = Type.Object({
  workflowRunIds: Type.Optional(ids),
  workflowUrl: Type.Optional(urls),
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
  { additionalProperties: false, description: 'The same filters as the query parameters. {} cancels all active runs.' },
);
type CancelBody = Static<typeof CancelBody>;

const several = (value: string | string[] | undefined): string[] | undefined => (typeof value === 'string' ? [value] : value);

/** Filters of the query or of the body. */
type Asked = Omit<CancelQuery, keyof typeof CANCEL_FILTERS> & OneOrMoreFilters<typeof CANCEL_FILTERS>;

const askedIn = ({ workflowUrl, host, path, ...rest }: CancelBody): Asked => ({
  ...rest,
  workflowUrl: several(workflowUrl),
  host: several(host),
  path: several(path),
});

/** The result is the union of these filters. A run that matches several of them is canceled once. */
function storeFiltersOf(asked: Asked): readonly RunFilter[] {
  const { workflowUrl: given, workflowUrlExactMatch: exact = false } = asked;
  const base: RunFilter = {
    statuses: ['active'],
    ...storeFilterOf(CANCEL_FILTERS, asked),
    ...(exact && given ? { workflowUrls: given } : {}),
  };
  const byUrl: readonly RunFilter[] =
    given && !exact ? given.map((workflowUrlPrefix) => ({ ...base, workflowUrlPrefix })) : [base];
  if (!asked.workflowRunIds) return byUrl;
  return [...new Set(asked.workflowRunIds)].flatMap((workflowRunId) => byUrl.map((filter) => ({ ...filter, workflowRunId })));
}

async function cancelAll(asked: Asked, context: ApiContext, instanceId: string): Promise<number> {
  let left = asked.count ?? Number.POSITIVE_INFINITY;
  let cancelled = 0;
  for (const filter of storeFiltersOf(asked)) {
    if (left <= 0) break;
    const done = await cancelMatching(filter, context, instanceId, { max: left, only: matchesUrlParts(asked) });
    cancelled += done;
    left -= done;
  }
  return cancelled;
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
  unknownQuery: 'refuse',
  query: CancelQuery,
  body: { kind: 'json', required: false, schema: CancelBody },
  responses: { 200: CanceledRuns },
  errors: ['bad-parameter', 'bad-body', 'unsupported-media-type'],
  async handle({ query, body }, context, { instanceId }) {
    const inQuery = Object.values(query).some((value) => value !== undefined);
    if (inQuery && body) throw new ApiError('bad-body', 'filters are in both the query and the body; send them in one place');
    if (!inQuery && !body)
      throw new ApiError('bad-parameter', 'specify workflowRunIds, a filter or a count; to cancel everything, send a count');
    const asked = body ? askedIn(body) : query;
    if (asked.workflowUrlExactMatch !== undefined && asked.workflowUrl === undefined)
      throw new ApiError('bad-parameter', 'workflowUrlExactMatch requires workflowUrl');
    if (isEmptyRange(asked)) return respond(200, { cancelled: 0 });
    return respond(200, { cancelled: await cancelAll(asked, context, instanceId) });
  },
});
