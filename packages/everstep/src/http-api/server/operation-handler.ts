/**
 * Runs the operation of an admitted request: collects its body, readBudget its input, and writes its response.
 * Keeps invariant 43.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { permits } from '../../accounts/tokens/token-scopes.js';
import { networkOf } from '../../accounts/users/client-network.js';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import { LONG_BYTES } from '../../fairness/work-slices.js';
import type { Admission, RoutedOperation } from '../admission/admission.js';
import { bodySizeLimit } from '../admission/plan-limits.js';
import { type ReadBudget, reserveFor } from '../admission/read-budget.js';
import type { AuditRecorder } from '../audited/recording.js';
import type { AdmittedCaller, ApiContext } from '../operation.js';
import { metadataJson, readOnlyJson } from '../presenters/read-only.js';
import { RawBody } from '../requests/raw-body.js';
import type { ReceivedBody, RequestBodies } from '../requests/request-bodies.js';
import { NO_BODY, readInput } from '../requests/request-input.js';
import { Compression, type EncodedContent, responseEncoding } from '../responses/compression.js';
import { API_HEADERS, JSON_TYPE } from '../responses/error-replies.js';
import { StreamedJson } from '../responses/streamed-json.js';
import { removeSecret } from '../sessions/cookie.js';
import { callerIpOf } from './caller-ip.js';
import { REQUEST_ID_HEADER } from './request-log.js';
import type { WaitingRequests } from './waiting-requests.js';

/** Statuses of responses to callers that are not or no longer admitted. */
const REFUSAL_STATUSES: readonly number[] = [400, 401, 403, 404];

const EMPTY_BODY: ReceivedBody = { length: 0, bytes: () => NO_BODY };

/**
 * Returns the owner whose share a body or a large response uses, and whose turn a slice of work is: a queue instance, the
 * account that owns a search index, or a caller that counts as a separate account.
 */
function ownerOf(admitted: AdmittedCaller, request: FastifyRequest): string {
  switch (admitted.access) {
    case 'open':
      return `address ${networkOf(callerIpOf(request))}`;
    case 'token':
      return admitted.caller.instanceId;
    case 'account':
      return `user ${admitted.principal.user.userId}`;
    case 'session':
      return `user ${admitted.session.principal.user.userId}`;
    case 'index':
      return admitted.caller.accountId;
  }
}

/** Returns the owners whose limits apply to a body: also the account, if several accounts share the memory. */
function bodyOwnersOf(owner: string, { limits }: Pick<ApiContext, 'limits'>): readonly string[] {
  return limits?.owners.isShared ? [owner, `account ${limits.owners.accountOf(owner)}`] : [owner];
}

/** Returns the function that converts a response to JSON without the data that the caller may not read. */
function serializerFor({ admitted, operation }: Admission): (body: unknown) => string {
  if (admitted.access !== 'token' || permits(admitted.caller.scopes, 'write')) return (body) => JSON.stringify(body);
  // A caller that may start or notify a run may read its result.
  const mayReadPayloads = operation.scope !== undefined || permits(admitted.caller.scopes, 'read');
  return mayReadPayloads ? readOnlyJson : metadataJson;
}

/** Returns whether the request has a body, by the same condition as the framework. */
const hasBody = ({ method, headers }: FastifyRequest): boolean =>
  method !== 'GET' &&
  method !== 'HEAD' &&
  (headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0');

function sendEncoded(reply: FastifyReply, { content, encoding }: EncodedContent): FastifyReply {
  reply.header('vary', 'accept-encoding');
  if (encoding !== null) reply.header('content-encoding', encoding);
  return reply.send(content);
}

export interface OperationHandlerOptions {
  readonly context: ApiContext;
  readonly auditRecorder: AuditRecorder;
  readonly bodies: RequestBodies;
  readonly readBudget: ReadBudget;
  readonly waitingRequests: WaitingRequests;
  /** Whether clients use https, regardless of what a proxy reports. */
  readonly isHttps: boolean;
  readonly admit: (request: FastifyRequest, routed: RoutedOperation) => Admission | Promise<Admission>;
  readonly admissionOf: (request: FastifyRequest) => Admission | undefined;
  /** Called before a response is sent. */
  readonly endConnection: (reply: FastifyReply) => void;
}

export function createOperationHandler(
  options: OperationHandlerOptions,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const { context, auditRecorder, bodies, readBudget, waitingRequests, isHttps, admit, admissionOf, endConnection } = options;
  const compression = new Compression();

  async function isStillAdmitted(request: FastifyRequest, { operation, dialect }: Admission): Promise<boolean> {
    try {
      await admit(request, { operation, dialect });
      return true;
    } catch (error) {
      // Rate limits and store outages are temporary, so they do not end the stream.
      return error instanceof ApiError && !REFUSAL_STATUSES.includes(error.status);
    }
  }

  async function collectBody(
    request: FastifyRequest,
    reply: FastifyReply,
    { operation, admitted }: Admission,
  ): Promise<ReceivedBody> {
    if (!hasBody(request)) return EMPTY_BODY;
    try {
      return await bodies.collect(request, reply, {
        owners: bodyOwnersOf(ownerOf(admitted, request), context),
        ...bodySizeLimit(context, operation, admitted.access === 'token' ? admitted.caller.instanceId : null),
      });
    } catch (error) {
      // The client may still send the rest of the body.
      reply.header('connection', 'close');
      throw error;
    }
  }

  return async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const admission = admissionOf(request);
    if (!admission) throw new Error('a request was not admitted');
    const { operation } = admission;
    const body = await collectBody(request, reply, admission);
    const owner = ownerOf(admission.admitted, request);
    const { admitted } = admission;
    const work = async () => {
      const input = readInput(operation, request, body.bytes(), {
        dialect: admission.dialect,
        callerIp: callerIpOf(request),
        headers: removeSecret(request.headers),
        isHttps: isHttps || request.protocol === 'https',
        host: request.host,
        target: admission.target,
        signal: () => waitingRequests.signalOf(reply),
        reserve: reserveFor(readBudget, reply, owner, () => waitingRequests.signalOf(reply)),
        isStillAdmitted: () => isStillAdmitted(request, admission),
      });
      return auditRecorder.run({ operation, admitted, input }, () => operation.run(input, context, admitted));
    };
    const pendingResponse = body.length < LONG_BYTES ? work() : context.slices.run(owner, work);
    const { status, body: responseBody, headers = {} } = await pendingResponse;
    endConnection(reply);
    reply.headers({ ...API_HEADERS, [REQUEST_ID_HEADER]: request.id, ...headers });
    if (responseBody === undefined) return reply.code(status).send();
    if (responseBody instanceof RawBody)
      return reply.code(status).header('content-type', responseBody.contentType).send(responseBody.content);
    reply.code(status).header('content-type', JSON_TYPE);
    const encoding = responseEncoding(operation, request);
    if (responseBody instanceof StreamedJson) {
      if (request.method === 'HEAD') return reply.send('');
      const parts = responseBody.stream(serializerFor(admission), (work) => context.slices.run(owner, work));
      return sendEncoded(reply, compression.stream(parts, encoding));
    }
    const text = serializerFor(admission)(responseBody);
    // The hot path: a short response is sent without another turn of the event loop.
    if (text.length < LIMITS.minCompressedBytes) return reply.send(text);
    return sendEncoded(reply, await compression.text(text, encoding));
  };
}
