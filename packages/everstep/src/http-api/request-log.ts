/** Ids of requests, by which an answer, a line of the log and a line of a proxy are found, and the log of requests. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../ports/log.js';
import { callerIpOf } from './caller-ip.js';
import type { Admitted } from './operation.js';

export const REQUEST_ID_HEADER = 'x-request-id';
/** What is taken of a client or a proxy: an id, and no text. */
const TAKEN = /^[A-Za-z0-9._:+/=@-]{1,128}$/;

/** The id that was sent, or a new one. */
export function requestIdOf({ headers }: { readonly headers: IncomingHttpHeaders }): string {
  const sent = headers[REQUEST_ID_HEADER];
  return typeof sent === 'string' && TAKEN.test(sent) ? sent : randomUUID();
}

/** Who was let in, in the words of the audit log; null where everybody is. */
function callerOf(admitted: Admitted | undefined): Readonly<Record<string, string>> {
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

export interface AnsweredRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** As the document writes it; null where there is none. Not the URL: a workflow URL or a token in it is nobody's business. */
  readonly route: string | null;
  readonly admitted: Admitted | undefined;
}

/** Logs each answered request: at `info` with who asked, if that is wanted, else at `debug`. */
export function createRequestLog(log: Log, isAccessLog: boolean): (answered: AnsweredRequest) => void {
  return ({ request, reply, route, admitted }) => {
    const ms = Math.round(reply.elapsedTime);
    const line = { requestId: request.id, method: request.method, route, status: reply.statusCode, ms };
    if (isAccessLog) log.info({ ...line, callerIp: callerIpOf(request), ...callerOf(admitted) }, 'request');
    else log.debug(line, 'request');
  };
}
