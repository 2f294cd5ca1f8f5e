/** All operations of the runtime API, in the order of its OpenAPI document. */
import type { Operation } from '../operation.js';
import { alertSettingOperations } from './alerts/alert-settings.js';
import { listAlerts } from './alerts/alerts.js';
import { advanceClock, getClock, settleClock } from './control/clock.js';
import { holdDestination, listDestinations, releaseDestination } from './control/destinations.js';
import {
  flowControlChanges,
  getFlowControl,
  getGlobalParallelism,
  listFlowControls,
  listWaitingDeliveries,
} from './control/flow-control.js';
import { getSettings, getSigningKeys, rotateSigningKeys, updateSettings } from './control/instance.js';
import { listNodes, streamHints } from './control/live.js';
import { listRunEvents, listRunLogs } from './control/logs.js';
import { getMetrics } from './control/metrics.js';
import { scheduleChangeOperations } from './control/schedule-changes.js';
import { scheduleRunOperations } from './control/schedule-runs.js';
import { scheduleOperations } from './control/schedules.js';
import { getHealth, getOpenApi, getReadiness } from './control/service.js';
import { getPublicKeys, getSignatureSettings, rotateKeyPairs, updateSignatureSettings } from './control/signatures.js';
import { listWorkers } from './control/workers.js';
import { checkDeadLetters, checkRun } from './dead-letters/check.js';
import { groupOperations } from './dead-letters/dead-letter-groups.js';
import { getDeadLetter, listDeadLetters } from './dead-letters/dead-letters.js';
import { deleteDeadLetter, deleteDeadLetters } from './dead-letters/delete-dead-letters.js';
import { cancelFailureCallback, retryFailureCallback } from './dead-letters/failure-callbacks.js';
import { recoverOperations } from './dead-letters/recover.js';
import { repairOperations } from './dead-letters/repairs.js';
import { listWaiters, notifyEvent, notifyRun } from './events/notify.js';
import { listAllWaiters } from './events/waiters.js';
import { webhookOperations } from './events/webhooks.js';
import { insightOperations } from './insights/insights.js';
import { listSummaryOperations } from './insights/list-summaries.js';
import { listRunAttempts } from './runs/attempts.js';
import { cancelRuns } from './runs/cancel-runs.js';
import { explainRun } from './runs/explain.js';
import { forkRun } from './runs/fork.js';
import { compareRuns, getRunLineage } from './runs/related-runs.js';
import { cancelRun, getRun, getRunResult, getRunStep } from './runs/runs.js';
import { searchRuns } from './runs/search-runs.js';
import { triggerRuns } from './triggers/batch-trigger.js';
import { triggerRun } from './triggers/trigger.js';

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
  ...scheduleChangeOperations,
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
  listWorkers,
  listAlerts,
  ...alertSettingOperations,
  ...insightOperations,
  ...listSummaryOperations,
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
  getMetrics,
  getOpenApi,
]);
