/** Presents repairs and their entries. */
import { REPAIR_FILTERS } from '../../contract/filters/dead-letter-filters.js';
import type { RepairEntry, RepairItem, RepairOverrides } from '../../contract/repairs.js';
import {
  expectedDurationMs,
  minBilledMessages,
  type RepairCanary,
  type RepairCounts,
  type RepairPlan,
  totalOf,
  verdictOn,
} from '../../engine/dead-letters/repair.js';
import type { Overrides } from '../../engine/runs/settings.js';
import type { RepairItemRecord, RepairRecord } from '../../ports/stores/repair-store.js';
import { requestFiltersOf } from '../parameters/filters.js';
import { optional } from './optional.js';

function presentOverrides(overrides: Overrides): RepairOverrides {
  const { maxRetries, retryDelay, labels, flowControlKey, flowControlLimits } = overrides;
  const flowControl = { ...optional('key', flowControlKey), ...flowControlLimits };
  return {
    ...optional('retries', maxRetries),
    ...optional('retryDelay', retryDelay),
    ...optional('labels', labels && [...labels]),
    ...(Object.keys(flowControl).length === 0 ? {} : { flowControl }),
  };
}

function presentCounts(counts: RepairCounts) {
  const total = totalOf(counts);
  return { total, ended: total - counts.pending - counts.started, failed: counts.failed };
}

function presentCanary({ count, maxFailurePercent, thenContinue, counts, groups = [] }: RepairCanary, plan: RepairPlan) {
  return {
    ...{ count, maxFailurePercent, thenContinue, succeeded: counts.succeeded },
    ...presentCounts(counts),
    groups: groups.map(({ fingerprint, counts: groupCounts }) => ({
      fingerprint,
      message: plan.groups.find((group) => group.fingerprint === fingerprint)?.message ?? '',
      verdict: verdictOn(groupCounts, maxFailurePercent),
      ...presentCounts(groupCounts),
    })),
  };
}

export function presentRepair({ repair, filter, overrides }: RepairRecord): RepairEntry {
  const { plan, counts, action } = repair;
  return {
    repairId: repair.repairId,
    action,
    filter: requestFiltersOf(REPAIR_FILTERS, filter),
    overrides: presentOverrides(overrides),
    state: repair.phase,
    createdAt: repair.createdAt,
    createdBy: repair.createdBy,
    startedAt: repair.startedAt,
    endedAt: repair.endedAt,
    undoUntil: repair.undoUntil,
    ratePerSecond: repair.ratePerSecond,
    canary: repair.canary && presentCanary(repair.canary, plan),
    counts: { total: totalOf(counts), ...counts },
    plan: {
      workflows: [...plan.workflows],
      groups: [...plan.groups],
      oldestAt: plan.oldestAt,
      newestAt: plan.newestAt,
      more: plan.more,
      stepsKept: action === 'resume' ? plan.recordedSteps : 0,
      messagesAtLeast: minBilledMessages(repair),
      expectedDurationMs: expectedDurationMs(repair),
    },
    stopReason: repair.stopReason,
    stopMessage: repair.stopMessage,
  };
}

export const presentRepairItem = (item: RepairItemRecord): RepairItem => ({
  dlqId: item.dlqId,
  workflowRunId: item.workflowRunId,
  workflowUrl: item.workflowUrl,
  state: item.state,
  fingerprint: item.fingerprint,
  canary: item.canary,
  newWorkflowRunId: item.newWorkflowRunId,
  newDlqId: item.newDlqId,
  error: item.error,
  at: item.at,
});
