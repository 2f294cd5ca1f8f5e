/** Operations that show and set which destinations a queue instance may call. */

import Type from 'typebox';
import {
  AllowedDestinations,
  DeniedDestinations,
  Ok,
  OnlyDestinations,
  OutboundRulesRecord,
  RecordId,
} from '../../contract/management.js';
import { WRITES_OWN_ENTRY } from '../audited/audit-rule.js';
import { accountOperation, type Operation, respond } from '../operation.js';
import { BODY_ERRORS, CHANGE_ERRORS, jsonBody, OK, requiredBody, valueOrThrow } from './outcome.js';

const TAG = 'Queue instances';
const pathParameters = Type.Object({ id: RecordId('Id of the queue instance.') });

const getOutboundRules = accountOperation({
  operationId: 'getOutboundRules',
  tag: TAG,
  summary: 'Get the outbound rules of a queue instance',
  description:
    'Returns the rules of the instance only; the rules of the installation also apply. For members of the account and for operators.',
  method: 'GET',
  path: '/v2/queue/outbound-rules/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  responses: { 200: OutboundRulesRecord },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path }, { accounts }, principal) {
    const { allow, deny, only } = valueOrThrow(await accounts.outboundRules(principal, path.id));
    return respond(200, { id: path.id, allow: [...allow], deny: [...deny], only: only && [...only] });
  },
});

const setOutboundRules = accountOperation({
  operationId: 'setOutboundRules',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Set the outbound rules of a queue instance',
  description:
    'Replaces both lists. The rules can only restrict: a destination must also be allowed by the installation. They apply to every delivery that starts after the response.',
  method: 'POST',
  path: '/v2/queue/set-outbound-rules/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  body: jsonBody({ deny: DeniedDestinations, only: OnlyDestinations }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS],
  async handle({ path, body }, { accounts }, principal) {
    const { deny, only } = requiredBody(body);
    valueOrThrow(await accounts.setOutboundRules(principal, { instanceId: path.id, deny, only }));
    return OK;
  },
});

const setAllowedDestinations = accountOperation({
  operationId: 'setAllowedDestinations',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Allow private destinations for a queue instance',
  description:
    'Replaces the list. Only for operators of the installation, who do not need a role in the account. Destinations that the installation denies stay denied.',
  method: 'POST',
  path: '/v2/queue/set-allowed-destinations/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  body: jsonBody({ allow: AllowedDestinations }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS],
  async handle({ path, body }, { accounts }, principal) {
    valueOrThrow(await accounts.setAllowedDestinations(principal, { instanceId: path.id, allow: requiredBody(body).allow }));
    return OK;
  },
});

export const outboundRulesOperations: readonly Operation[] = [getOutboundRules, setOutboundRules, setAllowedDestinations];
