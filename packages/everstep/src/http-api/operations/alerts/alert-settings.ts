/** Destinations, rules and lifecycle webhooks of alerts. */
import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import {
  AlertDestinationEntry,
  AlertDestinations,
  AlertRuleEntry,
  AlertRules,
  AlertTest,
  DeletedAlertObject,
  LifecycleWebhookEntry,
  LifecycleWebhooks,
  PutAlertDestination,
  PutAlertRule,
  PutLifecycleWebhook,
} from '../../../contract/alerts/alerts.js';
import { ApiError } from '../../../contract/error-codes.js';
import { patternOption } from '../../../contract/patterns.js';
import {
  type AlertDestination,
  type AlertRule,
  displayUrl,
  type LifecycleWebhook,
} from '../../../engine/alerts/alert-settings.js';
import { isTimeZone } from '../../../engine/alerts/quiet-hours.js';
import type { SettingsRefusal } from '../../../engine/alerts/settings-changes.js';
import type { MailRecipients } from '../../../ports/mail-recipients.js';
import type { AlertService, DestinationRequest } from '../../../runtime/services/workflow-service.js';
import { change } from '../../audited/audit-rule.js';
import { type ApiContext, type Operation, operation, respond } from '../../operation.js';
import { parseDestination } from '../../parameters/destination.js';
import { InvalidValueError, quoteValue } from '../../parameters/value-errors.js';
import { optional } from '../../presenters/optional.js';
import { conditionOf } from './conditions.js';
import { type AlertObject, alertObjectNotFound, refusalError } from './refusals.js';

const TAG = 'Alerts';
const PATH = '/v2/alerts';
const DESTINATIONS_PATH = `${PATH}/destinations`;
const RULES_PATH = `${PATH}/rules`;
const WEBHOOKS_PATH = `${PATH}/webhooks`;
const NamePath = (description: string) =>
  Type.Object({
    name: Type.String({ minLength: 1, maxLength: LIMITS.maxAlertNameLength, ...patternOption('name'), description }),
  });
const BODY_ERRORS = ['bad-parameter', 'bad-body', 'unsupported-media-type', 'conflict'] as const;

const missingBody = (): ApiError => new ApiError('bad-body', 'the request body is missing; send a JSON object');

const presentDestination = (destination: AlertDestination, secret: string | null = null): AlertDestinationEntry => ({
  name: destination.name,
  kind: destination.kind,
  url: displayUrl(destination),
  ...(destination.kind === 'email' ? { to: [...destination.to] } : {}),
  ...(secret === null ? {} : { secret }),
  createdAt: destination.createdAt,
});

const presentRule = ({ name, isEnabled, condition, destinations, quietHours, createdAt }: AlertRule): AlertRuleEntry => ({
  name,
  enabled: isEnabled,
  condition,
  destinations: [...destinations],
  ...optional('quietHours', quietHours),
  createdAt,
});

const presentWebhook = ({ isEnabled, events, ...webhook }: LifecycleWebhook): LifecycleWebhookEntry => ({
  ...webhook,
  enabled: isEnabled,
  events: [...events],
});

/** Returns the URL. Throws ApiError if it is invalid, or if Everstep may not call it. */
function checkUrl(text: string, { destinationPolicy }: ApiContext, instanceId: string): string {
  try {
    const url = parseDestination(text);
    const verdict = destinationPolicy?.check(url, instanceId);
    if (verdict?.ok === false) throw new ApiError('blocked-address', `"url" is not allowed: ${verdict.message}`);
    return url;
  } catch (error) {
    if (error instanceof InvalidValueError) throw new ApiError('bad-body', `"url" ${error.message}`);
    throw error;
  }
}

/** Returns the allowed recipients of email. Throws ApiError if the installation has no SMTP server. */
function recipientsOf({ mailRecipients }: ApiContext): MailRecipients {
  if (mailRecipients) return mailRecipients;
  throw new ApiError('no-mail-server', 'email requires an SMTP server; ask the operator to set EVERSTEP_SMTP_URL');
}

/** Returns the destination without duplicate addresses. Throws ApiError if a field is missing or does not belong to the kind. */
function requestOf(
  { kind, url, to, rotateSecret = false }: PutAlertDestination,
  context: ApiContext,
  object: { readonly instanceId: string; readonly name: string },
): DestinationRequest {
  const unusedValue = kind === 'email' ? url : to;
  const [requiredName, unusedName] = kind === 'email' ? ['to', 'url'] : ['url', 'to'];
  if (unusedValue !== undefined) throw new ApiError('bad-body', `"${unusedName}" is not used by the kind ${kind}; omit it`);
  if (kind === 'email' && to) {
    const recipients = recipientsOf(context);
    const disallowedAddress = to.find((address) => !recipients.allows(address));
    if (disallowedAddress !== undefined)
      throw new ApiError(
        'bad-body',
        `"to": ${quoteValue(disallowedAddress)} is not allowed to receive email from this installation; ask the operator to allow it`,
      );
    return { ...object, kind, to: [...new Set(to)], rotateSecret: false };
  }
  if (kind !== 'email' && url !== undefined)
    return { ...object, kind, url: checkUrl(url, context, object.instanceId), rotateSecret };
  throw new ApiError('bad-body', `"${requiredName}" is missing; the kind ${kind} requires it`);
}

/** Returns an operation that deletes an object by its name. */
const deleteOperation = (
  operationId: string,
  path: string,
  objectKind: AlertObject,
  description: string,
  remove: (
    service: AlertService,
    object: { readonly instanceId: string; readonly name: string },
  ) => Promise<SettingsRefusal | null>,
): Operation =>
  operation({
    operationId,
    audit: change(`${objectKind.replace(' ', '-')}.delete`, 'name'),
    tag: TAG,
    summary: `Delete ${objectKind.startsWith('alert') ? 'an' : 'a'} ${objectKind}`,
    description,
    method: 'DELETE',
    path: `${path}/{name}`,
    unknownQuery: 'refuse',
    pathParameters: NamePath(`Name of the ${objectKind}.`),
    responses: { 200: DeletedAlertObject },
    errors: ['bad-parameter', 'not-found', 'conflict'],
    async handle({ path: { name } }, { service }, { instanceId }) {
      const refusal = await remove(service.alerts, { instanceId, name });
      if (refusal !== null) throw refusalError(refusal, objectKind, name);
      return respond(200, { deleted: 1 });
    },
  });

const listAlertDestinations = operation({
  operationId: 'listAlertDestinations',
  tag: TAG,
  summary: 'List alert destinations',
  description: 'Returns the destinations without their secrets.',
  method: 'GET',
  path: DESTINATIONS_PATH,
  unknownQuery: 'ignore',
  responses: { 200: AlertDestinations },
  errors: [],
  handle: async (_input, { service, mailRecipients }, { instanceId }) => {
    const destinations = service.alerts
      .settings({ instanceId })
      .destinations.map((destination) => presentDestination(destination));
    return respond(200, { destinations, mailAvailable: mailRecipients !== null });
  },
});

const putAlertDestination = operation({
  operationId: 'putAlertDestination',
  audit: change('alert-destination.put', 'name'),
  tag: TAG,
  summary: 'Create or replace an alert destination',
  description:
    'A new webhook gets a secret, which is in the response and cannot be read again. A replaced webhook keeps its secret, unless `rotateSecret` is true.',
  method: 'PUT',
  path: `${DESTINATIONS_PATH}/{name}`,
  unknownQuery: 'refuse',
  pathParameters: NamePath('Name of the destination.'),
  body: { kind: 'json', required: true, schema: PutAlertDestination },
  responses: { 200: AlertDestinationEntry },
  errors: [...BODY_ERRORS, 'blocked-address', 'no-mail-server'],
  async handle({ path: { name }, body }, context, { instanceId }) {
    if (!body) throw missingBody();
    const putResult = await context.service.alerts.putDestination(requestOf(body, context, { instanceId, name }));
    if (typeof putResult === 'string') throw refusalError(putResult, 'alert destination', name);
    return respond(200, presentDestination(putResult.destination, putResult.newSecret));
  },
});

const testAlertDestination = operation({
  operationId: 'testAlertDestination',
  audit: change('alert-destination.test', 'name'),
  tag: TAG,
  summary: 'Send a test notice',
  description: `Sends a notice of the type \`alert.test\` to the destination. Each queue instance can send up to ${LIMITS.maxTestNoticesPerHour} test notices per hour.`,
  method: 'POST',
  path: `${DESTINATIONS_PATH}/{name}/test`,
  unknownQuery: 'refuse',
  pathParameters: NamePath('Name of the destination.'),
  responses: { 200: AlertTest },
  errors: ['bad-parameter', 'not-found', 'conflict', 'no-mail-server'],
  async handle({ path: { name } }, context, { instanceId }) {
    const { service } = context;
    const destination = service.alerts.settings({ instanceId }).destinations.find((item) => item.name === name);
    if (destination?.kind === 'email') recipientsOf(context);
    const outcome = await service.alerts.test({ instanceId, name });
    if (outcome === 'not-found') throw alertObjectNotFound('alert destination', name);
    if (outcome === 'too-many-tests')
      throw new ApiError(
        'conflict',
        `the queue instance has reached the limit of ${LIMITS.maxTestNoticesPerHour} test notices per hour; retry later`,
      );
    return respond(200, outcome);
  },
});

const listAlertRules = operation({
  operationId: 'listAlertRules',
  tag: TAG,
  summary: 'List alert rules',
  description: 'Returns all rules of the queue instance.',
  method: 'GET',
  path: RULES_PATH,
  unknownQuery: 'ignore',
  responses: { 200: AlertRules },
  errors: [],
  handle: async (_input, { service }, { instanceId }) =>
    respond(200, { rules: service.alerts.settings({ instanceId }).rules.map(presentRule) }),
});

const putAlertRule = operation({
  operationId: 'putAlertRule',
  audit: change('alert-rule.put', 'name'),
  tag: TAG,
  summary: 'Create or replace an alert rule',
  description: 'The rule applies to events from now on. If the kind of its condition changes, the open alerts of the rule end.',
  method: 'PUT',
  path: `${RULES_PATH}/{name}`,
  unknownQuery: 'refuse',
  pathParameters: NamePath('Name of the rule.'),
  body: { kind: 'json', required: true, schema: PutAlertRule },
  responses: { 200: AlertRuleEntry },
  errors: BODY_ERRORS,
  async handle({ path: { name }, body }, { service }, { instanceId }) {
    if (!body) throw missingBody();
    const { enabled: isEnabled = true, condition, destinations, quietHours } = body;
    if (quietHours && !isTimeZone(quietHours.timeZone))
      throw new ApiError('bad-body', '"quietHours.timeZone" must be the IANA name of a time zone, such as Europe/Berlin');
    if (quietHours && quietHours.from === quietHours.to)
      throw new ApiError(
        'bad-body',
        '"quietHours.to" must differ from "quietHours.from"; to send no notices at all, disable the rule or omit its destinations',
      );
    const rule = {
      ...{ name, isEnabled, condition: conditionOf(condition), destinations: [...new Set(destinations)] },
      ...optional('quietHours', quietHours),
    };
    const putResult = await service.alerts.putRule({ instanceId, rule });
    if (typeof putResult === 'string') throw refusalError(putResult, 'alert rule', name);
    return respond(200, presentRule(putResult));
  },
});

const listLifecycleWebhooks = operation({
  operationId: 'listLifecycleWebhooks',
  tag: TAG,
  summary: 'List lifecycle webhooks',
  description: 'Returns all lifecycle webhooks of the queue instance.',
  method: 'GET',
  path: WEBHOOKS_PATH,
  unknownQuery: 'ignore',
  responses: { 200: LifecycleWebhooks },
  errors: [],
  handle: async (_input, { service }, { instanceId }) =>
    respond(200, { webhooks: service.alerts.settings({ instanceId }).webhooks.map(presentWebhook) }),
});

const putLifecycleWebhook = operation({
  operationId: 'putLifecycleWebhook',
  audit: change('lifecycle-webhook.put', 'name'),
  tag: TAG,
  summary: 'Create or replace a lifecycle webhook',
  description: 'The destination receives a notice for each matching run event from now on. Each notice is a billed message.',
  method: 'PUT',
  path: `${WEBHOOKS_PATH}/{name}`,
  unknownQuery: 'refuse',
  pathParameters: NamePath('Name of the webhook.'),
  body: { kind: 'json', required: true, schema: PutLifecycleWebhook },
  responses: { 200: LifecycleWebhookEntry },
  errors: BODY_ERRORS,
  async handle({ path: { name }, body }, { service }, { instanceId }) {
    if (!body) throw missingBody();
    const { enabled: isEnabled = true, events, workflowUrl, label, destination } = body;
    const webhook = {
      name,
      isEnabled,
      events: [...new Set(events)],
      ...optional('workflowUrl', workflowUrl),
      ...optional('label', label),
      destination,
    };
    const putResult = await service.alerts.putWebhook({ instanceId, webhook });
    if (typeof putResult === 'string') throw refusalError(putResult, 'lifecycle webhook', name);
    return respond(200, presentWebhook(putResult));
  },
});

export const alertSettingOperations: readonly Operation[] = [
  listAlertDestinations,
  putAlertDestination,
  deleteOperation(
    'deleteAlertDestination',
    DESTINATIONS_PATH,
    'alert destination',
    'A destination cannot be deleted while a rule or a lifecycle webhook uses it.',
    (alerts, object) => alerts.deleteDestination(object),
  ),
  testAlertDestination,
  listAlertRules,
  putAlertRule,
  deleteOperation(
    'deleteAlertRule',
    RULES_PATH,
    'alert rule',
    'The open alerts of the rule end without a notice.',
    (alerts, object) => alerts.deleteRule(object),
  ),
  listLifecycleWebhooks,
  putLifecycleWebhook,
  deleteOperation(
    'deleteLifecycleWebhook',
    WEBHOOKS_PATH,
    'lifecycle webhook',
    'Pending notices are still sent.',
    (alerts, object) => alerts.deleteWebhook(object),
  ),
];
