/** Flow control operations whose responses differ in this dialect. Others, such as pause and pin, are native operations. */

import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { Empty } from '../../contract/empty.js';
import { ApiError } from '../../contract/error-codes.js';
import type { FlowControlStatus } from '../../runtime/services/workflow-service.js';
import { change } from '../audited/audit-rule.js';
import { type Operation, operation, respond } from '../operation.js';
import { UnpinQuery } from '../operations/control/flow-control.js';
import { quoteValue } from '../parameters/value-errors.js';
import { StoredText } from '../parameters/values.js';
import { presentFlowControl } from '../presenters/flow-control.js';
import { FlowControlEntry } from './shapes.js';

const TAG = 'Flow control';
const KeyPath = Type.Object({
  flowControlKey: StoredText(LIMITS.maxFlowControlKeyLength, { description: 'The key, percent-encoded' }),
});

const requireKey = (key: string, status: FlowControlStatus | null): FlowControlStatus => {
  if (status) return status;
  throw new ApiError(
    'not-found',
    `flow control key ${quoteValue(key)} does not exist; the first message that uses a key creates it`,
  );
};

/** Presents a key. Fields without a limit are 0. */
const present = (status: FlowControlStatus, now: number): FlowControlEntry => ({
  parallelismMax: 0,
  rateMax: 0,
  rateCount: 0,
  ratePeriod: 0,
  ratePeriodStart: 0,
  ...presentFlowControl(status, now),
});

const listKeys = operation({
  operationId: 'listFlowControlKeys',
  tag: TAG,
  summary: 'List flow control keys',
  description: 'Returns the limits and the current state of all flow control keys.',
  method: 'GET',
  path: '/v2/flowControl/',
  otherPaths: ['/v2/flowControl'],
  dialect: 'upstash',
  unknownQuery: 'ignore',
  responses: { 200: Type.Array(FlowControlEntry) },
  errors: [],
  async handle(_input, { service }, { instanceId }) {
    const now = service.now();
    return respond(
      200,
      (await service.flowControl.list({ instanceId })).map((status) => present(status, now)),
    );
  },
});

const getKey = operation({
  operationId: 'getFlowControlKey',
  tag: TAG,
  summary: 'Get a flow control key',
  description: 'Returns the limits and the current state of the flow control key.',
  method: 'GET',
  path: '/v2/flowControl/{flowControlKey}',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  pathParameters: KeyPath,
  responses: { 200: FlowControlEntry },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { flowControlKey: key } }, { service }, { instanceId }) {
    return respond(200, present(requireKey(key, await service.flowControl.find({ instanceId, key })), service.now()));
  },
});

const unpinKey = operation({
  operationId: 'unpinFlowControlKey',
  audit: change('flow-control.unpin', 'flowControlKey'),
  tag: TAG,
  summary: 'Unpin the limits of a flow control key',
  description: 'The limits stay until a message changes them. Only the limits given as true are unpinned.',
  method: 'POST',
  path: '/v2/flowControl/{flowControlKey}/unpin',
  dialect: 'upstash',
  unknownQuery: 'refuse',
  pathParameters: KeyPath,
  query: UnpinQuery,
  responses: { 200: Empty },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { flowControlKey: key }, query }, { service }, { instanceId }) {
    const { parallelism = false, rate = false } = query;
    requireKey(key, await service.flowControl.change({ instanceId, key, change: { kind: 'unpin', parallelism, rate } }));
    return respond(200, undefined);
  },
});

export const flowControlOperations: readonly Operation[] = [listKeys, getKey, unpinKey];
