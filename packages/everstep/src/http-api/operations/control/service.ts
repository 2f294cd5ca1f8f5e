/** Operations about the server itself, which require no token. */
import Type from 'typebox';
import { ApiError } from '../../../contract/error-codes.js';
import { NOT_READY_HEADER, NOT_READY_REASONS, type NotReadyReason } from '../../../contract/errors.js';
import { Health, Readiness } from '../../../contract/service.js';
import { openOperation, respond } from '../../operation.js';

export const getHealth = openOperation({
  operationId: 'getHealth',
  tag: 'Service',
  summary: 'Check whether the server is alive',
  description: 'Returns 200 as long as the process responds.',
  method: 'GET',
  path: '/health',
  unknownQuery: 'ignore',
  whileStopping: 'respond',
  responses: { 200: Health },
  errors: [],
  handle: (_input, { version }) => respond(200, { status: 'ok' as const, version }),
});

/** Maximum time for the store to respond to a readiness check. */
const STORE_CHECK_TIMEOUT_MS = 2_000;

/** Waits for `work`. Rejects when it takes longer than `timeoutMs`. */
async function withTimeout(timeoutMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`timed out after ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

const notReady = (reason: NotReadyReason, message: string): ApiError =>
  new ApiError(reason === 'store-unavailable' ? reason : 'unavailable', message, { 'retry-after': '2' }, reason);

export const getReadiness = openOperation({
  operationId: 'getReadiness',
  tag: 'Service',
  summary: 'Check whether the server accepts requests',
  description:
    'Returns 503 while the server starts or stops, while its store cannot be read or rejects writes, and while this node has no lease. A header then contains the reason.',
  method: 'GET',
  path: '/ready',
  unknownQuery: 'ignore',
  whileStopping: 'respond',
  responses: { 200: Readiness },
  unavailableHeaders: {
    [NOT_READY_HEADER]: {
      description:
        'Why the server is not ready. `store-unavailable`: the store rejects writes or cannot be reached. `store-unreadable`: a read from the store failed or timed out. `no-lease`: this node has no database lease.',
      schema: { enum: NOT_READY_REASONS },
    },
  },
  errors: [],
  async handle(_input, { reads, log, isStarting, isStopping, hasLease, storeRefusal }) {
    if (isStarting()) throw notReady('starting', 'the server is starting; retry later');
    if (isStopping()) throw notReady('stopping', 'the server is stopping; use another node, or retry later');
    const refusal = storeRefusal();
    if (refusal !== null) throw notReady('store-unavailable', refusal);
    try {
      await withTimeout(STORE_CHECK_TIMEOUT_MS, reads.check());
    } catch (error) {
      log.error({ error: String(error) }, 'readiness check could not read the store');
      throw notReady('store-unreadable', 'the store cannot be read; the server log contains the cause');
    }
    if (!hasLease()) throw notReady('no-lease', 'this node has no database lease and does not start work until it has one');
    return respond(200, { status: 'ready' as const });
  },
});

export const getOpenApi = openOperation({
  operationId: 'getOpenApi',
  tag: 'Service',
  summary: 'Get the OpenAPI document of the runtime API',
  description: 'Returns this document. Requires no token.',
  method: 'GET',
  path: '/openapi.json',
  unknownQuery: 'ignore',
  whileStopping: 'respond',
  responses: { 200: Type.Unknown({ description: 'OpenAPI 3.1 document.' }) },
  errors: [],
  handle: (_input, { openApi }) => respond(200, openApi()),
});
