/** Operations of flow control keys: read their state, pause and resume them, and pin their limits. */

import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { FlowControlEntry, FlowControls, FlowControlWaitList, GlobalParallelism } from '../../../contract/service.js';
import type { FlowControlChange } from '../../../runtime/services/workflow-service.js';
import { change } from '../../audited/audit-rule.js';
import { type Operation, operation, respond } from '../../operation.js';
import { DEFAULT_PERIOD_MS } from '../../parameters/flow-control-value.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { Duration, StoredText } from '../../parameters/values.js';
import { presentFlowControl, presentKeyWaiter } from '../../presenters/flow-control.js';
import { optional } from '../../presenters/optional.js';
import { assertObjectQuota } from '../../quotas/named-objects.js';

const TAG = 'Flow control';
const KeyPath = Type.Object({
  flowControlKey: StoredText(LIMITS.maxFlowControlKeyLength, { description: 'Flow control key, percent-encoded.' }),
});

/** Query parameters that select the limits to unpin. If only one parameter is present, the other parameter is false. */
export const UnpinQuery = Type.Object({
  parallelism: Type.Optional(Type.Boolean({ description: 'Whether to unpin the parallelism.' })),
  rate: Type.Optional(Type.Boolean({ description: 'Whether to unpin the rate and its period.' })),
});

const requireKey = <Status>(key: string, status: Status | null): Status => {
  if (status !== null) return status;
  throw new ApiError(
    'not-found',
    `flow control key ${quoteValue(key)} not found; a key is created by the first run that uses it`,
  );
};

export const listFlowControls = operation({
  operationId: 'listFlowControls',
  tag: TAG,
  summary: 'List flow control keys',
  description: 'Returns all keys with the number of waiting deliveries.',
  method: 'GET',
  path: '/v2/flowControl/',
  otherPaths: ['/v2/flowControl'],
  unknownQuery: 'ignore',
  responses: { 200: FlowControls },
  errors: [],
  async handle(_input, { service }, { instanceId }) {
    const now = service.now();
    const statuses = await service.flowControl.list({ instanceId });
    return respond(200, { flowControls: statuses.map((status) => presentFlowControl(status, now)) });
  },
});

export const getFlowControl = operation({
  operationId: 'getFlowControl',
  tag: TAG,
  summary: 'Get a flow control key',
  description: 'Returns the limits and the current state of the key.',
  method: 'GET',
  path: '/v2/flowControl/{flowControlKey}',
  unknownQuery: 'ignore',
  pathParameters: KeyPath,
  responses: { 200: FlowControlEntry },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { flowControlKey: key } }, { service }, { instanceId }) {
    const status = requireKey(key, await service.flowControl.find({ instanceId, key }));
    return respond(200, presentFlowControl(status, service.now()));
  },
});

export const listWaitingDeliveries = operation({
  operationId: 'listWaitingDeliveries',
  tag: TAG,
  summary: 'List the deliveries that wait for a flow control key',
  description:
    'Returns the first deliveries of the wait list, in the order in which they start. With several nodes, a node that does not hold the gates of the instance orders them by due time.',
  method: 'GET',
  path: '/v2/flowControl/{flowControlKey}/waiting',
  unknownQuery: 'refuse',
  pathParameters: KeyPath,
  query: Type.Object({
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.waitListMax,
        default: LIMITS.waitListDefault,
        description: 'Maximum number of deliveries to return.',
      }),
    ),
  }),
  responses: { 200: FlowControlWaitList },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { flowControlKey: key }, query: { count } }, { service }, { instanceId }) {
    const waitList = requireKey(
      key,
      await service.flowControl.waitList({ instanceId, key, limit: count ?? LIMITS.waitListDefault }),
    );
    return respond(200, { waiting: waitList.waiting.map(presentKeyWaiter), waitListSize: waitList.size });
  },
});

interface KeyAction {
  readonly verb: 'pause' | 'resume' | 'resetRate';
  /** Name of the action in the audit log. */
  readonly action: string;
  readonly change: FlowControlChange;
  readonly summary: string;
  readonly description: string;
}

const KEY_ACTIONS: readonly KeyAction[] = [
  {
    verb: 'pause',
    action: 'pause',
    change: { kind: 'pause' },
    summary: 'Pause a flow control key',
    description: 'Deliveries with the key wait until it is resumed. Deliveries in flight continue.',
  },
  {
    verb: 'resume',
    action: 'resume',
    change: { kind: 'resume' },
    summary: 'Resume a flow control key',
    description: 'Waiting deliveries start again, in the order in which they became due.',
  },
  {
    verb: 'resetRate',
    action: 'reset-rate',
    change: { kind: 'reset-rate' },
    summary: 'Reset the rate period of a flow control key',
    description: 'The next delivery starts a new period.',
  },
];

const actionOperations: readonly Operation[] = KEY_ACTIONS.map(({ verb, action, change: keyChange, summary, description }) =>
  operation({
    operationId: `${verb}FlowControl`,
    audit: change(`flow-control.${action}`, 'flowControlKey'),
    tag: TAG,
    summary,
    description,
    method: 'POST',
    path: `/v2/flowControl/{flowControlKey}/${verb}`,
    unknownQuery: 'refuse',
    pathParameters: KeyPath,
    responses: { 200: FlowControlEntry },
    errors: ['bad-parameter', 'not-found'],
    async handle({ path: { flowControlKey: key } }, { service }, { instanceId }) {
      const status = requireKey(key, await service.flowControl.change({ instanceId, key, change: keyChange }));
      return respond(200, presentFlowControl(status, service.now()));
    },
  }),
);

const pinFlowControl = operation({
  operationId: 'pinFlowControl',
  audit: change('flow-control.pin', 'flowControlKey'),
  tag: TAG,
  summary: 'Pin the limits of a flow control key',
  description:
    'Runs cannot change a pinned limit until it is unpinned. Parallelism and rate are pinned separately: a limit that is omitted does not change. Without parameters, the current limits of the key are pinned. A key that does not exist is created.',
  method: 'POST',
  path: '/v2/flowControl/{flowControlKey}/pin',
  unknownQuery: 'refuse',
  pathParameters: KeyPath,
  query: Type.Object({
    parallelism: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMITS.maxParallelism, description: 'Maximum number of deliveries in flight.' }),
    ),
    rate: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMITS.maxRate, description: 'Maximum number of starts per period.' }),
    ),
    period: Type.Optional(
      Duration(
        { minMs: 1_000, maxMs: LIMITS.maxPeriodMs },
        { description: 'Length of the period. Requires `rate`. Default: 1s.', examples: ['30', '1m', '7d'] },
      ),
    ),
  }),
  responses: { 200: FlowControlEntry },
  errors: ['bad-parameter', 'not-found', 'too-many-flow-control-keys'],
  async handle({ path: { flowControlKey: key }, query: { parallelism, rate, period } }, context, { instanceId }) {
    const { service } = context;
    if (rate === undefined && period !== undefined)
      throw new ApiError('bad-parameter', 'the query parameter "period" requires "rate", which is missing');
    const limits = {
      ...optional('parallelism', parallelism),
      ...(rate === undefined ? {} : { rate, periodMs: period ?? DEFAULT_PERIOD_MS }),
    };
    await assertObjectQuota(context, instanceId, 'flow-control', key);
    const status = requireKey(key, await service.flowControl.change({ instanceId, key, change: { kind: 'pin', limits } }));
    return respond(200, presentFlowControl(status, service.now()));
  },
});

const unpinFlowControl = operation({
  operationId: 'unpinFlowControl',
  audit: change('flow-control.unpin', 'flowControlKey'),
  tag: TAG,
  summary: 'Unpin the limits of a flow control key',
  description: 'The limits stay in effect until a run sets other limits. Without parameters, unpins both parallelism and rate.',
  method: 'POST',
  path: '/v2/flowControl/{flowControlKey}/unpin',
  unknownQuery: 'refuse',
  pathParameters: KeyPath,
  query: UnpinQuery,
  responses: { 200: FlowControlEntry },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { flowControlKey: key }, query }, { service }, { instanceId }) {
    const unpinsAll = query.parallelism === undefined && query.rate === undefined;
    const { parallelism = unpinsAll, rate = unpinsAll } = query;
    const keyChange = { kind: 'unpin', parallelism, rate } as const;
    const status = requireKey(key, await service.flowControl.change({ instanceId, key, change: keyChange }));
    return respond(200, presentFlowControl(status, service.now()));
  },
});

export const flowControlChanges: readonly Operation[] = [...actionOperations, pinFlowControl, unpinFlowControl];

export const getGlobalParallelism = operation({
  operationId: 'getGlobalParallelism',
  tag: TAG,
  summary: 'Get the global parallelism',
  description:
    'Returns the maximum and the current number of deliveries in flight of the queue instance, including deliveries without a flow control key.',
  method: 'GET',
  path: '/v2/globalParallelism',
  unknownQuery: 'ignore',
  responses: { 200: GlobalParallelism },
  errors: [],
  handle: (_input, { service }, { instanceId }) => {
    const { max, inFlight } = service.flowControl.globalParallelism({ instanceId });
    return respond(200, { parallelismMax: max, parallelismCount: inFlight });
  },
});
