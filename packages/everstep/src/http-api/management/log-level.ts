/** Operations of the log level of this server at `/v2/log-level`, for operators. */
import type { Principal } from '../../accounts/account-service.js';
import { ApiError } from '../../contract/error-codes.js';
import { LogLevelEntry, LogLevelName } from '../../contract/installation/log-level.js';
import { change } from '../audited/audit-rule.js';
import { type ApiContext, accountOperation, type Operation, respond } from '../operation.js';
import { BODY_ERRORS, jsonBody, requiredBody } from './outcome.js';

const TAG = 'Service';
const SCOPE_NOTE = 'Only for operators. Every node has its own level; the request applies to the node that receives it.';

async function requireOperator({ accounts }: ApiContext, principal: Principal): Promise<void> {
  if (!(await accounts.isOperator(principal)))
    throw new ApiError('forbidden', 'only operators of this installation can read or change the log level');
}

const presentLogLevel = ({ logLevel: { level, configured }, nodeId }: ApiContext): LogLevelEntry => ({
  level,
  configured_level: configured,
  node_id: nodeId(),
});

const getLogLevel = accountOperation({
  operationId: 'getLogLevel',
  tag: TAG,
  summary: 'Get the log level',
  description: SCOPE_NOTE,
  method: 'GET',
  path: '/v2/log-level',
  unknownQuery: 'refuse',
  responses: { 200: LogLevelEntry },
  errors: ['forbidden'],
  async handle(_input, context, principal) {
    await requireOperator(context, principal);
    return respond(200, presentLogLevel(context));
  },
});

const setLogLevel = accountOperation({
  operationId: 'setLogLevel',
  tag: TAG,
  audit: change('log-level.set', 'level'),
  summary: 'Change the log level',
  description: `Takes effect immediately and lasts until the server restarts. ${SCOPE_NOTE}`,
  method: 'PUT',
  path: '/v2/log-level',
  unknownQuery: 'refuse',
  body: jsonBody({ level: LogLevelName }),
  responses: { 200: LogLevelEntry },
  errors: ['forbidden', 'bad-parameter', ...BODY_ERRORS],
  async handle({ body }, context, principal) {
    await requireOperator(context, principal);
    context.logLevel.set(requiredBody(body).level, principal.user.email);
    return respond(200, presentLogLevel(context));
  },
});

export const logLevelOperations: readonly Operation[] = [getLogLevel, setLogLevel];
