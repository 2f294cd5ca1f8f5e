/** Flow control keys: how they stand, and what a person sets of them. */

import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import { FlowControlEntry, FlowControls, FlowControlWaitList, GlobalParallelism } from '../../contract/service.js';
import type { FlowControlChange } from '../../runtime/workflow-service.js';
import { change } from '../audited/audit-rule.js';
import { answer, type Operation, operation } from '../operation.js';
import { DEFAULT_PERIOD_MS } from '../parameters/flow-control-value.js';
import { shown } from '../parameters/unacceptable.js';
import { Duration, KeptText } from '../parameters/values.js';
import { presentFlowControl, presentKeyWaiter } from '../presenters/flow-control.js';
import { optional } from '../presenters/optional.js';

const TAG = 'Flow control';
const KeyPath = Type.Object({
  flowControlKey: KeptText(LIMITS.maxFlowControlKeyLength, { description: 'The key, percent-encoded' }),
});

/** What is unpinned; absent is false where the other one is there. */
export const UnpinQuery = Type.Object({
  parallelism: Type.Optional(Type.Boolean({ description: 'Whether the parallelism is unpinned.' })),
  rate: Type.Optional(Type.Boolean({ description: 'Whether the rate and its period are unpinned.' })),
});

const found = <Found>(key: string, status: Found | null): Found => {
  if (status !== null) return status;
  throw new ApiError('not-found', `there is no flow control key ${shown(key)}; a key is made by the first run that names it`);
};

export const listFlowControls = operation({
  operationId: 'listFlowControls',
  tag: TAG,
  summary: 'List flow control keys',
  description: 'With the number of messages that wait for each.',
  method: 'GET',
  path: '/v2/flowControl/',
  otherPaths: ['/v2/flowControl'],
  unknownQuery: 'ignore',
  responses: { 200: FlowControls },
  errors: [],
  async handle(_input, { service }, { instanceId }) {
    const now = service.now();
    const statuses = await service.flowControls({ instanceId });
    return answer(200, { flowControls: statuses.map((status) => presentFlowControl(status, now)) });
  },
});

export const getFlowControl = operation({
  operationId: 'getFlowControl',
  tag: TAG,
  summary: 'Get a flow control key',
  method: 'GET',
  path: '/v2/flowControl/{flowControlKey}',
  unknownQuery: 'ignore',
  pathParameters: KeyPath,
  responses: { 200: FlowControlEntry },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { flowControlKey: key } }, { service }, { instanceId }) {
    const status = found(key, await service.flowControl({ instanceId, key }));
    return answer(200, presentFlowControl(status, service.now()));
  },
});

export const listFlowControlWaiting = operation({
  operationId: 'listFlowControlWaiting',
  tag: TAG,
  summary: 'List what waits for a flow control key',
  description:
    'The first of the wait list, in the order in which they go. Of several nodes, one that does not decide for the key tells the order of due times.',
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
        description: 'How many of them.',
      }),
    ),
  }),
  responses: { 200: FlowControlWaitList },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { flowControlKey: key }, query: { count } }, { service }, { instanceId }) {
    const list = found(key, await service.flowControlWaiting({ instanceId, key, limit: count ?? LIMITS.waitListDefault }));
    return answer(200, { waiting: list.waiting.map(presentKeyWaiter), waitListSize: list.size });
  },
});

interface Verb {
  readonly verb: 'pause' | 'resume' | 'resetRate';
  /** As the audit log names it. */
  readonly action: string;
  readonly change: FlowControlChange;
  readonly summary: string;
  readonly description: string;
}

const VERBS: readonly Verb[] = [
  {
    verb: 'pause',
    action: 'pause',
    change: { kind: 'pause' },
    summary: 'Pause a flow control key',
    description: 'Nothing of it is delivered until it is resumed; what is in flight goes on.',
  },
  {
    verb: 'resume',
    action: 'resume',
    change: { kind: 'resume' },
    summary: 'Resume a flow control key',
    description: 'What waits is delivered again, in the order in which it came.',
  },
  {
    verb: 'resetRate',
    action: 'reset-rate',
    change: { kind: 'reset-rate' },
    summary: 'End the rate window of a flow control key',
    description: 'The next delivery begins a new one.',
  },
];

const changes: readonly Operation[] = VERBS.map(({ verb, action, change: wanted, summary, description }) =>
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
      const status = found(key, await service.changeFlowControl({ instanceId, key, change: wanted }));
      return answer(200, presentFlowControl(status, service.now()));
    },
  }),
);

const pinFlowControl = operation({
  operationId: 'pinFlowControl',
  audit: change('flow-control.pin', 'flowControlKey'),
  tag: TAG,
  summary: 'Pin the limits of a flow control key',
  description:
    'A pinned limit is not replaced by those that runs bring until it is unpinned. The parallelism and the rate are pinned separately: what is left out stays as it is, pinned or not. Without any of them, the limits that the key has are pinned. A key that does not exist yet is created.',
  method: 'POST',
  path: '/v2/flowControl/{flowControlKey}/pin',
  unknownQuery: 'refuse',
  pathParameters: KeyPath,
  query: Type.Object({
    parallelism: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMITS.maxParallelism, description: 'How many may be in flight.' }),
    ),
    rate: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.maxRate, description: 'How many may start in a window.' })),
    period: Type.Optional(
      Duration(
        { leastMs: 1_000, mostMs: LIMITS.maxPeriodMs },
        { description: 'Length of a window; 1s when absent. Goes with rate.', examples: ['30', '1m', '7d'] },
      ),
    ),
  }),
  responses: { 200: FlowControlEntry },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { flowControlKey: key }, query: { parallelism, rate, period } }, { service }, { instanceId }) {
    if (rate === undefined && period !== undefined)
      throw new ApiError('bad-parameter', 'period goes with rate, which is missing');
    const limits = {
      ...optional('parallelism', parallelism),
      ...(rate === undefined ? {} : { rate, periodMs: period ?? DEFAULT_PERIOD_MS }),
    };
    const status = found(key, await service.changeFlowControl({ instanceId, key, change: { kind: 'pin', limits } }));
    return answer(200, presentFlowControl(status, service.now()));
  },
});

const unpinFlowControl = operation({
  operationId: 'unpinFlowControl',
  audit: change('flow-control.unpin', 'flowControlKey'),
  tag: TAG,
  summary: 'Unpin the limits of a flow control key',
  description: 'The limits stay until a run brings others. Unpins both the parallelism and the rate when neither is named.',
  method: 'POST',
  path: '/v2/flowControl/{flowControlKey}/unpin',
  unknownQuery: 'refuse',
  pathParameters: KeyPath,
  query: UnpinQuery,
  responses: { 200: FlowControlEntry },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { flowControlKey: key }, query }, { service }, { instanceId }) {
    const all = query.parallelism === undefined && query.rate === undefined;
    const { parallelism = all, rate = all } = query;
    const change = { kind: 'unpin', parallelism, rate } as const;
    const status = found(key, await service.changeFlowControl({ instanceId, key, change }));
    return answer(200, presentFlowControl(status, service.now()));
  },
});

export const flowControlChanges: readonly Operation[] = [...changes, pinFlowControl, unpinFlowControl];

export const getGlobalParallelism = operation({
  operationId: 'getGlobalParallelism',
  tag: TAG,
  summary: 'Get how many deliveries may be in flight, and are',
  description: 'Over all keys, and of what has none.',
  method: 'GET',
  path: '/v2/globalParallelism',
  unknownQuery: 'ignore',
  responses: { 200: GlobalParallelism },
  errors: [],
  handle: (_input, { service }, { instanceId }) => {
    const { max, inFlight } = service.globalParallelism({ instanceId });
    return answer(200, { parallelismMax: max, parallelismCount: inFlight });
  },
});
