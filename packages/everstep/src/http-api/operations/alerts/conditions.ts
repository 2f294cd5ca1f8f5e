/** Converts conditions of alert rules between the API and the engine. */
import { parseWorkerUrl } from '@everstep/sdk/protocol';
import { LIMITS } from '../../../config/limits.js';
import type { AlertConditionBody } from '../../../contract/alerts/alerts.js';
import { ApiError } from '../../../contract/error-codes.js';
import type { AlertCondition, AlertKind } from '../../../engine/alerts/alert-settings.js';
import { optional } from '../../presenters/optional.js';

type Field = Exclude<keyof AlertConditionBody, 'kind'>;

/** Fields that each kind requires, and fields that it also accepts. */
const FIELDS: Readonly<Record<AlertKind, { readonly required: readonly Field[]; readonly accepted: readonly Field[] }>> = {
  'run-failed': { required: [], accepted: ['workflowUrl', 'label', 'endAfterMs'] },
  'error-group': { required: [], accepted: ['workflowUrl'] },
  'failure-rate': { required: ['percent'], accepted: ['workflowUrl', 'windowMs', 'minRuns'] },
  'pending-age': { required: ['maxAgeMs'], accepted: ['flowControlKey', 'queue'] },
  'schedule-missed': { required: ['forMs'], accepted: [] },
  'run-age': { required: ['maxAgeMs'], accepted: ['workflowUrl', 'label'] },
  'no-worker': { required: ['workflowUrl', 'forMs'], accepted: [] },
  budget: { required: ['percent'], accepted: [] },
  'store-trouble': { required: [], accepted: [] },
};

const LONE_SURROGATE = /\p{Surrogate}/u;

const badBody = (message: string): ApiError => new ApiError('bad-body', message);

function checkFields({ kind, ...fields }: AlertConditionBody): void {
  const { required, accepted } = FIELDS[kind];
  const allowedNames: readonly string[] = [...required, ...accepted];
  for (const name of Object.keys(fields)) {
    if (!allowedNames.includes(name)) throw badBody(`"condition.${name}" is not used by the kind ${kind}; omit it`);
  }
  // Stores replace lone surrogates, so the alert could no longer be found.
  const malformedField = Object.entries(fields).find(([, value]) => typeof value === 'string' && LONE_SURROGATE.test(value));
  if (malformedField) throw badBody(`"condition.${malformedField[0]}" must not contain an unpaired surrogate`);
  const missingName = required.find((name) => fields[name] === undefined);
  if (missingName !== undefined) throw badBody(`"condition.${missingName}" is missing; the kind ${kind} requires it`);
  if (kind === 'pending-age' && (fields.flowControlKey === undefined) === (fields.queue === undefined))
    throw badBody('the kind pending-age requires exactly one of "condition.flowControlKey" and "condition.queue"');
  if (kind === 'no-worker' && parseWorkerUrl(fields.workflowUrl ?? '') === null)
    throw badBody('"condition.workflowUrl" must be a worker URL such as worker://shop/order');
}

/** Returns the condition with its defaults. Throws ApiError if a field is missing, or is not used by its kind. */
export function conditionOf(body: AlertConditionBody): AlertCondition {
  checkFields(body);
  const { kind, workflowUrl, label, flowControlKey, queue, percent = 0, maxAgeMs = 0, forMs = 0 } = body;
  const { endAfterMs = LIMITS.defaultAlertEndAfterMs, windowMs = LIMITS.defaultAlertWindowMs } = body;
  const workflowField = optional('workflowUrl', workflowUrl);
  const labelField = optional('label', label);
  switch (kind) {
    case 'run-failed':
      return { kind, ...workflowField, ...labelField, endAfterMs };
    case 'error-group':
      return { kind, ...workflowField };
    case 'failure-rate':
      return { kind, ...workflowField, percent, windowMs, minRuns: body.minRuns ?? LIMITS.defaultAlertMinRuns };
    case 'pending-age':
      return { kind, ...optional('flowControlKey', flowControlKey), ...optional('queue', queue), maxAgeMs };
    case 'schedule-missed':
      return { kind, forMs };
    case 'run-age':
      return { kind, ...workflowField, ...labelField, maxAgeMs };
    case 'no-worker':
      return { kind, workflowUrl: workflowUrl ?? '', forMs };
    case 'budget':
      return { kind, percent };
    case 'store-trouble':
      return { kind };
  }
}
