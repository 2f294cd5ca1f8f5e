/** Sends the responses to failed requests, and to requests whose path or method no operation has. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../contract/error-codes.js';
import { dialectOf } from '../../dialects/index.js';
import type { Log } from '../../ports/log.js';
import type { Admission, RoutedOperation } from '../admission/admission.js';
import type { Recording } from '../audited/recording.js';
import { shown } from '../parameters/value-errors.js';
import { apiErrorOf, errorReply, unknownRoute } from '../responses/error-replies.js';
import { callerIpOf } from './caller-ip.js';
import type { RefusalDelays } from './refusal-delays.js';
import { REQUEST_ID_HEADER } from './request-log.js';
import type { PathTable } from './routing.js';
import { splitTarget } from './target.js';

export interface ErrorSenderOptions {
  readonly log: Log;
  readonly recording: Recording;
  readonly chosen: WeakMap<FastifyRequest, RoutedOperation>;
  readonly admissions: WeakMap<FastifyRequest, Admission>;
  /** Called before a response is sent. */
  readonly endConnection: (reply: FastifyReply) => void;
  /** Absent: refusals are sent immediately. */
  readonly refusalDelays?: RefusalDelays | undefined;
}

export type SendError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void;

/** Returns a function that records an error and sends it in the dialect of the request. */
export function createErrorSender({
  log,
  recording,
  chosen,
  admissions,
  endConnection,
  refusalDelays,
}: ErrorSenderOptions): SendError {
  return (error, request, reply) => {
    const { id: requestId, method, routeOptions } = request;
    const api = apiErrorOf(error, log, {
      requestId,
      method,
      route: routeOptions.url,
      isComplete: request.raw.complete,
    });
    const operation = admissions.get(request)?.operation ?? chosen.get(request)?.operation;
    if (operation) recording.refused(operation, admissions.get(request)?.admitted, api, callerIpOf(request));
    const { status, headers, body } = errorReply(
      api,
      admissions.get(request)?.dialect ?? chosen.get(request)?.dialect ?? dialectOf({ headers: request.headers }),
    );
    const send = (): void => {
      endConnection(reply);
      reply.code(status).headers(headers).header(REQUEST_ID_HEADER, request.id).send(body);
    };
    const pause = api.code === 'rate-limited' ? refusalDelays?.pause(request.headers.authorization ?? callerIpOf(request)) : null;
    if (pause) void pause.then(send);
    else send();
  };
}

export function addErrorHandlers(app: FastifyInstance, paths: PathTable, sendError: SendError): void {
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const { path } = splitTarget(request.originalUrl);
    const methods = paths.methodsAt(paths.resolve(path));
    if (methods.length === 0) {
      sendError(unknownRoute(path), request, reply);
      return;
    }
    const allow = methods.join(', ');
    const message = `${shown(path)} does not support ${request.method}; supported methods: ${allow}`;
    sendError(new ApiError('method-not-allowed', message, { allow }), request, reply);
  });
}
