/** Counts and measures the work of the server. Never records ids, payloads, headers or queries of URLs. */
import type { Run } from '../engine/runs/run.js';
import type { CommitResult, CommitUnit, StoreWrite } from '../engine/writes.js';
import type { ObservedDelivery, Observer, SpanResult } from '../ports/observer.js';
import { isWorkerUrl } from '../ports/workers.js';
import { LabelValues, labelOfUrl, OTHER } from './label-values.js';
import type { MetricRegistry } from './registry.js';

const NO_LABELS = {};
const SECOND_MS = 1_000;
const UNKNOWN_ROUTE = 'unknown';

/** Counters that have the label `workflow`. */
const WORKFLOW_COUNTERS = ['everstep_runs_started_total', 'everstep_runs_ended_total'] as const;

/** Returns the class of a status, or the cause of a failure. */
const outcomeLabel = (outcome: number | string): string =>
  typeof outcome === 'number' ? `${Math.floor(outcome / 100)}xx` : outcome;

export class Metrics implements Observer {
  private readonly registry: MetricRegistry;
  private readonly workflows: LabelValues;

  /** Creates the observer. At most `maxNames` workflows have their own time series. */
  constructor(registry: MetricRegistry, maxNames: number) {
    this.registry = registry;
    this.workflows = new LabelValues(maxNames, (name) => {
      for (const counter of WORKFLOW_COUNTERS) void registry.remove(counter, 'workflow', name);
    });
    // Prometheus sees no increase if the first value of a time series is 1, so the first failure would cause no alert.
    for (const result of ['success', 'failed']) registry.count('everstep_failure_callbacks_total', { result }, 0);
    for (const result of ['ok', 'failed']) registry.count('everstep_commits_total', { result }, 0);
  }

  committed(units: readonly CommitUnit[], runOf: (runKey: string) => Run | null): void {
    for (const { writes } of units) for (const write of writes) this.countWrite(write, runOf);
  }

  batchWritten(units: number, results: readonly CommitResult[] | null, durationMs: number): void {
    const { registry } = this;
    registry.count('everstep_commits_total', { result: results ? 'ok' : 'failed' });
    if (!results) return;
    registry.observe('everstep_commit_duration_seconds', NO_LABELS, durationMs / SECOND_MS);
    registry.observe('everstep_commit_units', NO_LABELS, units);
  }

  logSynced(durationMs: number): void {
    this.registry.observe('everstep_fsync_duration_seconds', NO_LABELS, durationMs / SECOND_MS);
  }

  databaseCommitted(durationMs: number): void {
    this.registry.observe('everstep_database_commit_duration_seconds', NO_LABELS, durationMs / SECOND_MS);
  }

  nodesLost(count: number): void {
    this.registry.count('everstep_nodes_lost_total', NO_LABELS, count);
  }

  storeFailed(operation: string): void {
    this.registry.count('everstep_store_errors_total', { operation });
  }

  searched(operation: string, result: 'ok' | 'failed', durationMs: number): void {
    this.registry.count('everstep_search_operations_total', { operation, result });
    this.registry.observe('everstep_search_duration_seconds', { operation }, durationMs / SECOND_MS);
  }

  deliverySent(waitedMs: number): void {
    this.registry.observe('everstep_delivery_wait_seconds', NO_LABELS, Math.max(0, waitedMs) / SECOND_MS);
  }

  delivered({ kind, url, durationMs, outcome }: ObservedDelivery): void {
    const transport = isWorkerUrl(url) ? 'connection' : 'http';
    this.registry.count('everstep_deliveries_total', { kind, transport, outcome: outcomeLabel(outcome) });
    this.registry.observe('everstep_delivery_duration_seconds', { kind, transport }, durationMs / SECOND_MS);
  }

  scheduleTicked(result: 'started' | 'skipped', delayMs: number): void {
    this.registry.count('everstep_schedule_ticks_total', { result });
    if (result === 'started')
      this.registry.observe('everstep_schedule_delay_seconds', NO_LABELS, Math.max(0, delayMs) / SECOND_MS);
  }

  spansExported(result: SpanResult, count: number): void {
    this.registry.count('everstep_spans_total', { result }, count);
  }

  apiResponded({ method, route, status, durationMs }: Parameters<Observer['apiResponded']>[0]): void {
    const routeLabel = route ?? UNKNOWN_ROUTE;
    this.registry.count('everstep_http_requests_total', { method, route: routeLabel, status: String(status) });
    this.registry.observe('everstep_http_request_duration_seconds', { method, route: routeLabel }, durationMs / SECOND_MS);
  }

  private countWrite(write: StoreWrite, runOf: (runKey: string) => Run | null): void {
    const { registry } = this;
    switch (write.kind) {
      case 'create-run': {
        const { workflowUrl, settings } = write.run;
        if (settings.message) registry.count('everstep_messages_published_total', NO_LABELS);
        else registry.count('everstep_runs_started_total', { workflow: this.workflows.valueOf(labelOfUrl(workflowUrl)) });
        return;
      }
      case 'end-run':
        this.countRunEnd(write.outcome.status, write.completedAt, runOf(write.runKey));
        return;
      case 'record-step':
        registry.count('everstep_steps_recorded_total', { type: write.step.type });
        return;
      case 'record-attempt': {
        const { cause, retryAt } = write.attempt;
        registry.count('everstep_attempts_failed_total', { cause, retried: retryAt === null ? 'no' : 'yes' });
        return;
      }
      case 'add-dead-letter':
        registry.count('everstep_dead_letters_added_total', NO_LABELS);
        return;
      case 'take-dead-letter':
        registry.count('everstep_dead_letters_removed_total', { action: write.recoveredAs?.kind ?? 'delete' });
        return;
      case 'set-failure-function-state':
        this.countCallbackResult(write.state);
    }
  }

  private countRunEnd(state: string, completedAt: number, run: Run | null): void {
    const { registry } = this;
    if (run?.settings.message) {
      registry.count('everstep_messages_ended_total', { state });
      return;
    }
    const workflow = run ? this.workflows.valueOf(labelOfUrl(run.workflowUrl)) : OTHER;
    registry.count('everstep_runs_ended_total', { workflow, state });
    if (run) registry.observe('everstep_run_duration_seconds', { state }, Math.max(0, completedAt - run.createdAt) / SECOND_MS);
  }

  private countCallbackResult(state: string | null): void {
    const result = state === 'CALLBACK_SUCCESS' ? 'success' : state === 'CALLBACK_FAIL' ? 'failed' : null;
    if (result) this.registry.count('everstep_failure_callbacks_total', { result });
  }
}
