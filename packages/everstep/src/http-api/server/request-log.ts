/**
 * Request ids, which connect responses with log lines of the server and of proxies, and the request log.
 * Keeps invariant 34.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../ports/log.js';
import { NO_OBSERVER, type Observer } from '../../ports/observer.js';
import type { AdmittedCaller } from '../operation.js';
import { callerIpOf } from './caller-ip.js';

export const REQUEST_ID_HEADER = 'x-request-id';
/** Format of ids that are accepted from clients and proxies. */
const ACCEPTED_ID = /^[A-Za-z0-9._:+/=@-]{1,128}$/;

/** Returns the id that was sent, or a new one. */
export function requestIdOf({ headers }: { readonly headers: IncomingHttpHeaders }): string {
  const receivedId = headers[REQUEST_ID_HEADER];
  return typeof receivedId === 'string' && ACCEPTED_ID.test(receivedId) ? receivedId : randomUUID();
}

/** Returns the log fields of the caller, who is named as in the audit log. Empty for operations without authentication. */
function callerFields(admitted: AdmittedCaller | undefined): Readonly<Record<string, string>> {
  switch (admitted?.access) {
    case 'token':
      return { caller: admitted.caller.actor, instanceId: admitted.caller.instanceId };
    case 'account':
      return { caller: admitted.principal.user.email };
    case 'session':
      return { caller: admitted.session.principal.user.email };
    case 'index':
      return { indexId: admitted.caller.indexId };
    default:
      return {};
  }
}

export interface LoggedRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /**
   * Path of the operation in the OpenAPI document; null for unknown paths. Not the URL, which may contain a workflow URL or
   * a token.
   */
  readonly route: string | null;
  readonly admitted: AdmittedCaller | undefined;
}

/** Logs each request: at `info` with the caller if the access log is enabled, otherwise at `debug`. */
export function createRequestLog(
  log: Log,
  isAccessLogEnabled: boolean,
  observer: Observer = NO_OBSERVER,
): (loggedRequest: LoggedRequest) => void {
  return ({ request, reply, route, admitted }) => {
    const { method } = request;
    observer.apiResponded({ method, route, status: reply.statusCode, durationMs: reply.elapsedTime });
    const durationMs = Math.round(reply.elapsedTime);
    const logFields = { requestId: request.id, method: request.method, route, status: reply.statusCode, durationMs };
    if (isAccessLogEnabled) log.info({ ...logFields, callerIp: callerIpOf(request), ...callerFields(admitted) }, 'request');
    else log.debug(logFields, 'request');
  };
}
