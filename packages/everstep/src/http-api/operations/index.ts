/** Every operation of the API, in the order in which the document shows them. */
import type { Operation } from '../operation.js';
import { triggerRuns } from './batch-trigger.js';
import { cancelRuns } from './cancel-runs.js';
import { advanceClock, getClock, settleClock } from './clock.js';
import { getDeadLetter, listDeadLetters } from './dead-letters.js';
import { deleteDeadLetter, deleteDeadLetters } from './delete-dead-letters.js';
import { getSigningKeys, listFlowControls, rotateSigningKeys } from './instance.js';
import { listRunEvents, listRunLogs } from './logs.js';
import { notifyEvent } from './notify.js';
import { recoverOperations } from './recover.js';
import { cancelRun, getRun, getRunResult } from './runs.js';
import { getHealth, getOpenApi, getReadiness } from './service.js';
import { triggerRun } from './trigger.js';

export const OPERATIONS: readonly Operation[] = Object.freeze([
  triggerRun,
  triggerRuns,
  getRun,
  getRunResult,
  cancelRun,
  cancelRuns,
  listRunLogs,
  listRunEvents,
  listDeadLetters,
  getDeadLetter,
  deleteDeadLetter,
  deleteDeadLetters,
  ...recoverOperations,
  notifyEvent,
  listFlowControls,
  getSigningKeys,
  rotateSigningKeys,
  getClock,
  advanceClock,
  settleClock,
  getHealth,
  getReadiness,
  getOpenApi,
]);
