/** What everybody may ask of the service itself. */
import Type from 'typebox';
import { ApiError } from '../../contract/error-codes.js';
import { Health, Readiness } from '../../contract/service.js';
import { answer, openOperation } from '../operation.js';

export const getHealth = openOperation({
  operationId: 'getHealth',
  tag: 'Service',
  summary: 'Whether the process is alive',
  method: 'GET',
  path: '/health',
  unknownQuery: 'ignore',
  whileStopping: 'answer',
  responses: { 200: Health },
  errors: [],
  handle: (_input, { version }) => answer(200, { status: 'ok' as const, version }),
});

/** Whoever asks wants to know now: a store that answers later is as good as none. */
const STORE_ANSWERS_MS = 2_000;

/** Rejects when `work` takes longer. */
async function within(longestMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${longestMs} ms`)), longestMs);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

export const getReadiness = openOperation({
  operationId: 'getReadiness',
  tag: 'Service',
  summary:
    'Whether requests are taken: not while the service starts or stops, its store cannot be read or refuses writes, or this node has no lease on it',
  method: 'GET',
  path: '/ready',
  unknownQuery: 'ignore',
  whileStopping: 'answer',
  responses: { 200: Readiness },
  errors: [],
  async handle(_input, { store, log, isStarting, isStopping, hasLease, storeRefusal }) {
    if (isStarting()) throw new ApiError('unavailable', 'the service is starting');
    if (isStopping()) throw new ApiError('unavailable', 'the service is stopping');
    const refusal = storeRefusal();
    if (refusal !== null) throw new ApiError('store-unavailable', refusal, { 'retry-after': '2' });
    try {
      await within(STORE_ANSWERS_MS, store.latestTime());
    } catch (error) {
      log.error({ error: String(error) }, 'the store cannot be read');
      throw new ApiError('unavailable', 'the store cannot be read');
    }
    if (!hasLease())
      throw new ApiError('unavailable', 'this node has no lease on the database: it starts no work until it has one');
    return answer(200, { status: 'ready' as const });
  },
});

export const getOpenApi = openOperation({
  operationId: 'getOpenApi',
  tag: 'Service',
  summary: 'This document',
  method: 'GET',
  path: '/openapi.json',
  unknownQuery: 'ignore',
  whileStopping: 'answer',
  responses: { 200: Type.Unknown({ description: 'OpenAPI 3.1' }) },
  errors: [],
  handle: (_input, { openApi }) => answer(200, openApi()),
});
