/** All operations of the runtime API, in the order of its OpenAPI document. */
import type { Operation } from '../operation.js';
import { listRunAttempts } from './attempts.js';
import { triggerRuns } from './batch-trigger.js';
import { cancelRuns } from './cancel-runs.js';
import { checkDeadLetters, checkRun } from './check.js';
import { advanceClock, getClock, settleClock } from './clock.js';
import { groupOperations } from './dead-letter-groups.js';
import { getDeadLetter, listDeadLetters } from './dead-letters.js';
import { deleteDeadLetter, deleteDeadLetters } from './delete-dead-letters.js';
import { holdDestination, listDestinations, releaseDestination } from './destinations.js';
import { explainRun } from './explain.js';
import { cancelFailureCallback, retryFailureCallback } from './failure-callbacks.js';
import {
  flowControlChanges,
  getFlowControl,
  getGlobalParallelism,
  listFlowControls,
  listWaitingDeliveries,
} from './flow-control.js';
import { forkRun } from './fork.js';
import { getSettings, getSigningKeys, rotateSigningKeys, updateSettings } from './instance.js';
import { listNodes, streamHints } from './live.js';
import { listRunEvents, listRunLogs } from './logs.js';
import { listWaiters, notifyEvent, notifyRun } from './notify.js';
import { recoverOperations } from './recover.js';
import { compareRuns, getRunLineage } from './relatives.js';
import { repairOperations } from './repairs.js';
import { cancelRun, getRun, getRunResult, getRunStep } from './runs.js';
import { scheduleRunOperations } from './schedule-runs.js';
import { scheduleOperations } from './schedules.js';
import { searchRuns } from './search-runs.js';
import { getHealth, getOpenApi, getReadiness } from './service.js';
import { getPublicKeys, getSignatureSettings, rotateKeyPairs, updateSignatureSettings } from './signatures.js';
import { triggerRun } from './trigger.js';
import { listAllWaiters } from './waiters.js';
import { webhookOperations } from './webhooks.js';

export const OPERATIONS: readonly Operation[] = Object.freeze([
  triggerRun,
  triggerRuns,
  getRun,
  getRunResult,
  getRunStep,
  listRunAttempts,
  explainRun,
  forkRun,
  checkRun,
  compareRuns,
  getRunLineage,
  cancelRun,
  cancelRuns,
  listRunLogs,
  listRunEvents,
  searchRuns,
  listDeadLetters,
  ...groupOperations,
  checkDeadLetters,
  getDeadLetter,
  deleteDeadLetter,
  deleteDeadLetters,
  ...recoverOperations,
  retryFailureCallback,
  cancelFailureCallback,
  ...repairOperations,
  ...scheduleOperations,
  ...scheduleRunOperations,
  notifyEvent,
  notifyRun,
  listWaiters,
  listAllWaiters,
  ...webhookOperations,
  listFlowControls,
  getFlowControl,
  listWaitingDeliveries,
  ...flowControlChanges,
  getGlobalParallelism,
  listDestinations,
  holdDestination,
  releaseDestination,
  getSettings,
  updateSettings,
  getSigningKeys,
  rotateSigningKeys,
  getSignatureSettings,
  updateSignatureSettings,
  rotateKeyPairs,
  getPublicKeys,
  streamHints,
  listNodes,
  getClock,
  advanceClock,
  settleClock,
  getHealth,
  getReadiness,
  getOpenApi,
]);
