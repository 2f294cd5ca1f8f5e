/** Converts conditions of alert rules between the API and the engine. */
import { LIMITS } from '../../../config/limits.js';
import type { AlertConditionBody } from '../../../contract/alerts/alerts.js';
import { ApiError } from '../../../contract/error-codes.js';
import type { AlertCondition, AlertKind } from '../../../engine/alerts/alert-settings.js';
import { optional } from '../../presenters/optional.js';

type Field = Exclude<keyof AlertConditionBody, 'kind'>;

const FIELDS: Readonly<Record<AlertKind, readonly Field[]>> = {
  'run-failed': ['workflowUrl', 'label', 'endAfterMs'],
  'error-group': ['workflowUrl'],
};

/** Returns the condition with its defaults. Throws ApiError if it has a field that its kind does not use. */
export function conditionOf(body: AlertConditionBody): AlertCondition {
  const { kind, ...fields } = body;
  for (const name of Object.keys(fields)) {
    if (!FIELDS[kind].some((field) => field === name))
      throw new ApiError('bad-body', `"condition.${name}" is not used by the kind ${kind}; omit it`);
  }
  const { workflowUrl, label, endAfterMs = LIMITS.defaultAlertEndAfterMs } = fields;
  switch (kind) {
    case 'run-failed':
      return { kind, ...optional('workflowUrl', workflowUrl), ...optional('label', label), endAfterMs };
    case 'error-group':
      return { kind, ...optional('workflowUrl', workflowUrl) };
  }
}
