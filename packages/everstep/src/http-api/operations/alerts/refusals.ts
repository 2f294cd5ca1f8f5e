/** Errors of operations on alert settings. */
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import type { SettingsRefusal } from '../../../engine/alerts/settings-changes.js';
import { quoteValue } from '../../parameters/value-errors.js';

export type AlertObject = 'alert destination' | 'alert rule' | 'lifecycle webhook';

const MAX_COUNT: Readonly<Record<AlertObject, number>> = {
  'alert destination': LIMITS.maxAlertDestinations,
  'alert rule': LIMITS.maxAlertRules,
  'lifecycle webhook': LIMITS.maxLifecycleWebhooks,
};

export const alertObjectNotFound = (objectKind: AlertObject, name: string): ApiError =>
  new ApiError('not-found', `${objectKind} ${quoteValue(name)} not found`);

/** Returns the error of a rejected change. */
export function refusalError(refusal: SettingsRefusal, objectKind: AlertObject, name: string): ApiError {
  switch (refusal) {
    case 'not-found':
      return alertObjectNotFound(objectKind, name);
    case 'too-many':
      return new ApiError(
        'conflict',
        `the queue instance has reached the limit of ${MAX_COUNT[objectKind]} ${objectKind}s; delete one first`,
      );
    case 'in-use':
      return new ApiError(
        'conflict',
        `the ${objectKind} ${quoteValue(name)} is used by an alert rule or a lifecycle webhook; remove it there first`,
      );
    case 'no-destination':
      return new ApiError(
        'bad-body',
        `the ${objectKind} refers to a destination that does not exist; create the destination first`,
      );
    case 'not-a-webhook':
      return new ApiError('bad-body', '"destination" must be the name of a destination of the kind webhook');
  }
}
