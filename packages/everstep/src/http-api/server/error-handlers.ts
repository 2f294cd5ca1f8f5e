/** Sends the responses to failed requests, and to requests whose path or method is unknown. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../contract/error-codes.js';
import { dialectOf } from '../../dialects/index.js';
import type { Log } from '../../ports/log.js';
import type { Admission, RoutedOperation } from '../admission/admission.js';
import type { AuditRecorder } from '../audited/recording.js';
import { quoteValue } from '../parameters/value-errors.js';
import { apiErrorOf, errorReply, unknownRoute } from '../responses/error-replies.js';
import { callerIpOf } from './caller-ip.js';
import type { RefusalDelays } from './refusal-delays.js';
import { REQUEST_ID_HEADER } from './request-log.js';
import type { PathTable } from './routing.js';
import { splitTarget } from './target.js';

export interface ErrorSenderOptions {
  readonly log: Log;
  readonly auditRecorder: AuditRecorder;
  readonly selections: WeakMap<FastifyRequest, RoutedOperation>;
  readonly admissions: WeakMap<FastifyRequest, Admission>;
  /** Called before a response is sent. */
  readonly endConnection: (reply: FastifyReply) => void;
  /** If absent, refusals are sent immediately. */
  readonly refusalDelays?: RefusalDelays | undefined;
}

export type SendError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void;

/** Returns a function that records an error and sends it in the dialect of the request. */
export function createErrorSender({
  log,
  auditRecorder,
  selections,
  admissions,
  endConnection,
  refusalDelays,
}: ErrorSenderOptions): SendError {
  return (error, request, reply) => {
    const { id: requestId, method, routeOptions } = request;
    const apiError = apiErrorOf(error, log, {
      requestId,
      method,
      route: routeOptions.url,
      isComplete: request.raw.complete,
    });
    const operation = admissions.get(request)?.operation ?? selections.get(request)?.operation;
    if (operation) auditRecorder.countRefusal(operation, admissions.get(request)?.admitted, apiError, callerIpOf(request));
    const { status, headers, body } = errorReply(
      apiError,
      admissions.get(request)?.dialect ?? selections.get(request)?.dialect ?? dialectOf({ headers: request.headers }),
    );
    const send = (): void => {
      endConnection(reply);
      reply.code(status).headers(headers).header(REQUEST_ID_HEADER, request.id).send(body);
    };
    const pause =
      apiError.code === 'rate-limited' ? refusalDelays?.pause(request.headers.authorization ?? callerIpOf(request)) : null;
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
    const message = `${quoteValue(path)} does not support ${request.method}; supported methods: ${allow}`;
    sendError(new ApiError('method-not-allowed', message, { allow }), request, reply);
  });
}
