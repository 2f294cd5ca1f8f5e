/** Operations of repairs, which are bulk jobs over dead letters. A started repair runs in the background. */

import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { REPAIR_FILTERS } from '../../../contract/filters/dead-letter-filters.js';
import {
  ContinueRepair,
  PlanRepair,
  RepairEntry,
  type RepairFilter,
  RepairItemPage,
  RepairItemState,
  type RepairOverrides,
  RepairPage,
  RepairState,
  StartRepair,
} from '../../../contract/repairs.js';
import { type Repair, totalOf } from '../../../engine/dead-letters/repair.js';
import type { Overrides } from '../../../engine/runs/settings.js';
import { parseRetryDelay } from '../../../engine/schedules/retry-delay.js';
import type { RepairRecord } from '../../../ports/stores/repair-store.js';
import type { DeadLetterFilter } from '../../../ports/stores/store.js';
import type { RepairChange, RepairStartSettings } from '../../../runtime/services/workflow-service.js';
import { change, WRITES_OWN_ENTRY } from '../../audited/audit-rule.js';
import { type ApiContext, type Operation, operation, type RequestContext, respond } from '../../operation.js';
import { storeFilterOf } from '../../parameters/filters.js';
import { DEFAULT_PERIOD_MS } from '../../parameters/flow-control-value.js';
import { AnyOf } from '../../parameters/multi-value.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { Cursor, Text } from '../../parameters/values.js';
import { presentRepair, presentRepairItem } from '../../presenters/repair.js';
import { allowOverrides } from '../../quotas/named-objects.js';
import { isEmptyRange } from '../filters.js';

const TAG = 'Repairs';
const PATH = '/v2/workflows/repairs';
const RepairPath = Type.Object({ repairId: Text(LIMITS.maxRunIdLength, { description: 'Id of the repair.' }) });

const noSuchRepair = (repairId: string): ApiError => new ApiError('not-found', `repair ${quoteValue(repairId)} not found`);
const badBody = (message: string): ApiError => new ApiError('bad-body', message);

/** Converts the filter of a repair to a store filter. Throws ApiError if the filter is not allowed. */
export function filterOf(action: string, filter: RepairFilter): DeadLetterFilter {
  if (isEmptyRange(filter)) throw badBody('"filter.fromDate" must not be after "filter.toDate"');
  if (action === 'delete' && Object.keys(filter).length === 0)
    throw badBody('a delete requires a filter; to delete all entries, send { "fromDate": 0 }');
  const dlqIds = filter.dlqIds && [...new Set(filter.dlqIds)];
  return { kind: 'workflow', ...storeFilterOf(REPAIR_FILTERS, { ...filter, dlqIds }) };
}

function flowControlOf({ flowControl }: RepairOverrides): Pick<Overrides, 'flowControlKey' | 'flowControlLimits'> {
  if (!flowControl) return {};
  const { key, parallelism, rate, periodMs } = flowControl;
  if (rate === undefined && periodMs !== undefined)
    throw badBody('"overrides.flowControl.periodMs" requires "overrides.flowControl.rate", which is missing');
  const limits = {
    ...(parallelism === undefined ? {} : { parallelism }),
    ...(rate === undefined ? {} : { rate, periodMs: periodMs ?? DEFAULT_PERIOD_MS }),
  };
  const hasLimits = Object.keys(limits).length > 0;
  if (!hasLimits && key === undefined)
    throw badBody('"overrides.flowControl" must have "key", "parallelism" or "rate"; omit it to keep the flow control settings');
  return { flowControlKey: key, ...(hasLimits ? { flowControlLimits: limits } : {}) };
}

/** Converts the overrides of a repair. Throws ApiError when they are not allowed. */
function overridesOf(action: string, overrides: RepairOverrides): Overrides {
  if (action === 'delete' && Object.keys(overrides).length > 0)
    throw badBody('"overrides" apply to new runs, and a delete creates none; omit them');
  const { retries: maxRetries, retryDelay, labels } = overrides;
  const parsedExpression = retryDelay === undefined ? null : parseRetryDelay(retryDelay);
  if (parsedExpression && !parsedExpression.ok)
    throw new ApiError('bad-expression', `"overrides.retryDelay" is not a valid expression: ${parsedExpression.message}`);
  return {
    maxRetries,
    retryDelay,
    labels: labels && [...new Set(labels)],
    ...flowControlOf(overrides),
  };
}

/** Returns the start settings. Throws ApiError when they do not match the action. */
function startSettingsOf(action: string, body: StartRepair): RepairStartSettings {
  const { ratePerSecond = null, canary: canaryRequest, undoMs } = body;
  const canary = canaryRequest
    ? {
        count: canaryRequest.count,
        maxFailurePercent: canaryRequest.maxFailurePercent ?? LIMITS.repairCanaryMaxFailurePercent,
        thenContinue: canaryRequest.thenContinue ?? false,
      }
    : null;
  if (action === 'delete') {
    if (canary) throw badBody('"canary" applies to new runs, and a delete creates none; omit it');
    return { ratePerSecond, canary, undoMs: undoMs ?? LIMITS.repairUndoMs };
  }
  if (undoMs !== undefined) throw badBody(`"undoMs" is only for a delete, and this repair is a ${action}; omit it`);
  if (ratePerSecond === null) throw badBody(`"ratePerSecond" is missing; a ${action} requires a rate`);
  return { ratePerSecond, canary, undoMs: 0 };
}

async function requireRepair({ reads }: ApiContext, instanceId: string, repairId: string): Promise<RepairRecord> {
  const record = await reads.repairs.find({ instanceId, repairId });
  if (!record) throw noSuchRepair(repairId);
  return record;
}

interface RepairChangeRequest {
  readonly instanceId: string;
  readonly actor: string;
  readonly repairId: string;
  readonly change: RepairChange;
  readonly request: RequestContext;
}

/** Changes a repair, with an entry in the audit log. Throws ApiError if the change is not possible. */
async function changeRepair(
  context: ApiContext,
  { instanceId, actor, repairId, change, request }: RepairChangeRequest,
): Promise<RepairEntry> {
  const audit = (repair: Repair) =>
    context.authority.auditEntry(instanceId, {
      actor,
      address: request.callerIp,
      action: `repair.${change.kind}`,
      subject: repairId,
      details: {
        instanceId,
        action: repair.action,
        entries: totalOf(repair.counts),
        pending: repair.counts.pending,
        ratePerSecond: repair.ratePerSecond,
      },
    });
  const outcome = await context.service.repairs.change({ instanceId, repairId, change, audit });
  if (outcome.kind === 'not-found') throw noSuchRepair(repairId);
  if (outcome.kind === 'refused') throw new ApiError('repair-state', outcome.message);
  return presentRepair(outcome.record);
}

const planRepair = operation({
  operationId: 'planRepair',
  audit: change('repair.plan', 'repairId'),
  tag: TAG,
  summary: 'Plan a repair of dead letters',
  description: `Selects the matching entries, at most ${LIMITS.repairMaxItems}, and returns what the repair would do. Nothing is changed until you start it. If planning takes longer than two seconds, the state is \`planning\`: get the repair until it is \`planned\`.`,
  method: 'POST',
  path: PATH,
  unknownQuery: 'refuse',
  body: { kind: 'json', required: true, schema: PlanRepair },
  responses: { 201: RepairEntry },
  errors: [
    'bad-body',
    'bad-parameter',
    'bad-expression',
    'unsupported-media-type',
    'too-many-flow-control-keys',
    'too-many-repairs',
  ],
  async handle({ body }, context, { instanceId, actor }) {
    if (!body) throw badBody('the request body is missing; send a JSON object with "action"');
    const { action, filter = {}, overrides = {} } = body;
    const command = { filter: filterOf(action, filter), overrides: overridesOf(action, overrides) };
    await allowOverrides(context, instanceId, command.overrides);
    const record = await context.service.repairs.plan({ instanceId, action, ...command, createdBy: actor });
    if (record === 'too-many-repairs')
      throw new ApiError(
        'too-many-repairs',
        `the queue instance already has ${LIMITS.maxOpenRepairs} repairs that have not ended, which is the maximum; abort plans that you do not need, or wait until a repair has ended`,
      );
    return respond(201, presentRepair(record));
  },
});

const listRepairs = operation({
  operationId: 'listRepairs',
  tag: TAG,
  summary: 'List repairs',
  description: 'Returns repairs, newest first. The cursor is empty when there are no more results.',
  method: 'GET',
  path: PATH,
  unknownQuery: 'ignore',
  query: Type.Object({
    cursor: Type.Optional(Cursor('Cursor from the previous page, with the same filters. Omit it for the first page.')),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.repairsPageMax,
        default: LIMITS.repairsPageDefault,
        description: 'Maximum number of repairs per page.',
      }),
    ),
    state: Type.Optional(AnyOf(RepairState, 'State of the repair')),
  }),
  responses: { 200: RepairPage },
  errors: ['bad-parameter', 'bad-cursor'],
  async handle({ query, request }, { reads, cursors }, { instanceId }) {
    const { cursor: cursorText, count: limit = LIMITS.repairsPageDefault, state } = query;
    const scope = { operation: 'repairs', instanceId, filters: { state } };
    const cursorState = cursorText ? await cursors.open(scope, cursorText) : null;
    const phases = state && state.length > 0 ? { phases: state } : {};
    const repairs: RepairEntry[] = [];
    let after = cursorState?.after ?? null;
    let bytes = 0;
    // Filters and plans may be large, so few repairs are read at a time, and a page with large repairs ends early.
    do {
      const batchSize = Math.min(limit - repairs.length, LIMITS.repairsAtOnce);
      const batch = await reads.repairs.list({ instanceId, ...phases, after, limit: batchSize });
      repairs.push(...batch.items.map(presentRepair));
      bytes = JSON.stringify(repairs).length;
      after = batch.next;
    } while (after !== null && repairs.length < limit && bytes < LIMITS.maxPageBytes / 2);
    await request.reserve(bytes);
    const cursor = after === null ? '' : await cursors.seal(scope, { after, horizon: null, remaining: null });
    return respond(200, { cursor, repairs });
  },
});

const getRepair = operation({
  operationId: 'getRepair',
  tag: TAG,
  summary: 'Get a repair',
  description: 'Returns the plan, the progress and, after the repair has ended, its report.',
  method: 'GET',
  path: `${PATH}/{repairId}`,
  unknownQuery: 'ignore',
  pathParameters: RepairPath,
  responses: { 200: RepairEntry },
  errors: ['bad-parameter', 'not-found'],
  handle: async ({ path: { repairId } }, context, { instanceId }) =>
    respond(200, presentRepair(await requireRepair(context, instanceId, repairId))),
});

const listRepairItems = operation({
  operationId: 'listRepairItems',
  tag: TAG,
  summary: 'List the entries of a repair',
  description:
    'Returns entries in the order in which they are processed, except for the entries of the canary, which are processed first. The cursor is empty when there are no more results.',
  method: 'GET',
  path: `${PATH}/{repairId}/items`,
  unknownQuery: 'ignore',
  pathParameters: RepairPath,
  query: Type.Object({
    cursor: Type.Optional(Cursor('Cursor from the previous page, with the same filters. Omit it for the first page.')),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.repairItemsPageMax,
        default: LIMITS.repairItemsPageDefault,
        description: 'Maximum number of entries per page.',
      }),
    ),
    state: Type.Optional(AnyOf(RepairItemState, 'State of the entry')),
  }),
  responses: { 200: RepairItemPage },
  errors: ['bad-parameter', 'bad-cursor', 'not-found'],
  async handle({ path: { repairId }, query }, context, { instanceId }) {
    const { reads, cursors } = context;
    await requireRepair(context, instanceId, repairId);
    const { cursor: cursorText, count: limit = LIMITS.repairItemsPageDefault, state } = query;
    const scope = { operation: 'repair-items', instanceId, filters: { repairId, state } };
    const cursorState = cursorText ? await cursors.open(scope, cursorText) : null;
    const states = state && state.length > 0 ? { states: [...new Set(state)] } : {};
    const after = cursorState === null ? -1 : Number(cursorState.after);
    const { items, next } = await reads.repairs.items({ instanceId, repairId, ...states, after, limit });
    const cursor = next === null ? '' : await cursors.seal(scope, { after: String(next), horizon: null, remaining: null });
    return respond(200, { cursor, items: items.map(presentRepairItem) });
  },
});

const startRepair = operation({
  operationId: 'startRepair',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Start a planned repair',
  description:
    'The repair runs in the background and continues after restarts of the server. With a canary, a few entries are processed first and observed until they have ended. A delete waits until its undo window is over.',
  method: 'POST',
  path: `${PATH}/{repairId}/start`,
  unknownQuery: 'refuse',
  pathParameters: RepairPath,
  body: { kind: 'json', required: false, schema: StartRepair },
  responses: { 200: RepairEntry },
  errors: ['bad-parameter', 'bad-body', 'unsupported-media-type', 'not-found', 'repair-state', 'too-many-flow-control-keys'],
  async handle({ path: { repairId }, body, request }, context, { instanceId, actor }) {
    const { repair, overrides } = await requireRepair(context, instanceId, repairId);
    const change = { kind: 'start', settings: startSettingsOf(repair.action, body ?? {}) } as const;
    await allowOverrides(context, instanceId, overrides);
    return respond(200, await changeRepair(context, { instanceId, actor, repairId, change, request }));
  },
});

const continueRepair = operation({
  operationId: 'continueRepair',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Continue a repair',
  description: 'Continues a repair that is paused or whose canary has passed.',
  method: 'POST',
  path: `${PATH}/{repairId}/continue`,
  unknownQuery: 'refuse',
  pathParameters: RepairPath,
  body: { kind: 'json', required: false, schema: ContinueRepair },
  responses: { 200: RepairEntry },
  errors: ['bad-parameter', 'bad-body', 'unsupported-media-type', 'not-found', 'repair-state', 'too-many-flow-control-keys'],
  async handle({ path: { repairId }, body, request }, context, { instanceId, actor }) {
    const { overrides } = await requireRepair(context, instanceId, repairId);
    const change = { kind: 'continue', ratePerSecond: body?.ratePerSecond } as const;
    await allowOverrides(context, instanceId, overrides);
    return respond(200, await changeRepair(context, { instanceId, actor, repairId, change, request }));
  },
});

const stopOperation = (kind: 'pause' | 'abort', summary: string, description: string): Operation =>
  operation({
    operationId: `${kind}Repair`,
    audit: WRITES_OWN_ENTRY,
    tag: TAG,
    summary,
    description,
    method: 'POST',
    path: `${PATH}/{repairId}/${kind}`,
    unknownQuery: 'refuse',
    pathParameters: RepairPath,
    responses: { 200: RepairEntry },
    errors: ['bad-parameter', 'not-found', 'repair-state'],
    handle: async ({ path: { repairId }, request }, context, { instanceId, actor }) =>
      respond(200, await changeRepair(context, { instanceId, actor, repairId, change: { kind }, request })),
  });

export const repairOperations: readonly Operation[] = [
  planRepair,
  listRepairs,
  getRepair,
  listRepairItems,
  startRepair,
  stopOperation(
    'pause',
    'Pause a repair',
    'No more entries are started until the repair is continued. Runs that have started continue.',
  ),
  continueRepair,
  stopOperation(
    'abort',
    'Abort a repair',
    'No more entries are started. Runs that have started continue. During the undo window of a delete, nothing has been deleted yet, so aborting the repair undoes the delete.',
  ),
];
