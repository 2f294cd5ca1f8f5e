/** Recovers and deletes dead letters at the request of users and of repairs. */
import { recoverRun, type StartedRun } from '../../engine/runs/start.js';
import type { CommitResult, RunReference } from '../../engine/writes.js';
import type { DeadLetterGroupStore, MarkOutcome } from '../../ports/stores/dead-letter-groups.js';
import type { DeadLetterStore } from '../../ports/stores/dead-letter-store.js';
import type { RunStore } from '../../ports/stores/run-store.js';
import type { DeadLetterService, MarkGroupCommand, RecoverCommand, RecoverOutcome } from '../interface/dead-letters.js';
import type { StartPayload } from '../runs/run-cache.js';
import { type RunStarts, referenceOf } from '../runs/run-starts.js';

/** A recovered run that is not committed yet. */
export interface Recovery {
  readonly startedRun: StartedRun;
  readonly payload: StartPayload;
}

export type RecoveryCommand = Pick<RecoverCommand, 'kind' | 'instanceId' | 'overrides' | 'workflowRunId' | 'admittedAt'>;

/** Options of the dead letters. `commit` also copies long journals. */
export interface DeadLettersOptions extends RunStarts {
  readonly store: DeadLetterStore & RunStore & { readonly deadLetterGroups: DeadLetterGroupStore };
  /** Reports a change of the instance that no unit contains. */
  readonly reportChange: (instanceId: string, topic: 'dlq') => void;
}

export class DeadLetters implements DeadLetterService {
  private readonly options: DeadLettersOptions;

  constructor(options: DeadLettersOptions) {
    this.options = options;
  }

  /** Returns the run that recovers the entry. Nothing is written. */
  async prepare(command: RecoveryCommand, dlqId: string): Promise<Recovery | 'missing' | 'no-flow-control-key'> {
    const { store, context } = this.options;
    const deadLetter = await store.findDeadLetter({ instanceId: command.instanceId, dlqId });
    const failedRun = deadLetter && (await store.loadRun({ runKey: deadLetter.runKey }));
    if (!deadLetter || !failedRun) return 'missing';
    const { overrides, workflowRunId = null, admittedAt = null } = command;
    const retryKind = failedRun.settings.message ? 'restart' : 'resume';
    const kind = command.kind === 'retry' ? retryKind : command.kind;
    const startedRun = recoverRun(failedRun, { kind, dlqId, overrides, workflowRunId, admittedAt }, context());
    return startedRun === 'no-flow-control-key' ? startedRun : { startedRun, payload: deadLetter.payload };
  }

  async recover(command: RecoverCommand): Promise<RecoverOutcome> {
    const { dlqIds, onMissing } = command;
    const recoveries: Recovery[] = [];
    const missingIds: string[] = [];
    for (const dlqId of dlqIds) {
      const recovery = await this.prepare(command, dlqId);
      if (recovery === 'no-flow-control-key') return { kind: 'no-flow-control-key', dlqId };
      if (recovery === 'missing') missingIds.push(dlqId);
      else recoveries.push(recovery);
    }
    if (missingIds.length > 0 && onMissing === 'fail') return { kind: 'missing', dlqIds: missingIds };
    const runs: RunReference[] = [];
    const batches = onMissing === 'fail' ? [recoveries] : recoveries.map((recovery) => [recovery]);
    const settledBatches = await Promise.allSettled(batches.map((batch) => this.commitTogether(batch)));
    for (const [index, settledBatch] of settledBatches.entries()) {
      if (settledBatch.status === 'rejected') throw settledBatch.reason;
      const result = settledBatch.value;
      if (result.kind === 'run-id-taken') return { kind: 'run-id-taken', run: result.run };
      if (result.kind === 'dead-letters-missing' && onMissing === 'fail') return { kind: 'missing', dlqIds: result.dlqIds };
      if (result.kind === 'applied') runs.push(...(batches[index] ?? []).map(({ startedRun }) => referenceOf(startedRun)));
    }
    return { kind: 'recovered', runs };
  }

  async delete(command: Parameters<DeadLetterService['delete']>[0]): ReturnType<DeadLetterService['delete']> {
    const { instanceId, dlqIds, onMissing } = command;
    const batches = onMissing === 'fail' ? [dlqIds] : dlqIds.map((dlqId) => [dlqId]);
    const results = await Promise.all(
      batches.map((batchDlqIds) =>
        this.options.commit({
          guards: [{ kind: 'dead-letters-present', instanceId, dlqIds: batchDlqIds }],
          writes: batchDlqIds.map((dlqId) => ({ kind: 'take-dead-letter', instanceId, dlqId, recoveredAs: null })),
        }),
      ),
    );
    let count = 0;
    for (const [index, result] of results.entries()) {
      if (result.kind === 'applied') count += batches[index]?.length ?? 0;
      else if (result.kind === 'dead-letters-missing' && onMissing === 'fail') return { kind: 'missing', dlqIds: result.dlqIds };
    }
    return { kind: 'deleted', count };
  }

  async markGroup(command: MarkGroupCommand): Promise<MarkOutcome> {
    const outcome = await this.options.store.deadLetterGroups.mark(command);
    if (outcome === 'done') this.options.reportChange(command.instanceId, 'dlq');
    return outcome;
  }

  /** Commits all recoveries in one unit, and drives their runs. If one entry is missing, nothing is written. */
  private async commitTogether(recoveries: readonly Recovery[]): Promise<CommitResult> {
    const { commit, drive } = this.options;
    const result = await commit({
      guards: recoveries.flatMap(({ startedRun }) => startedRun.unit.guards),
      writes: recoveries.flatMap(({ startedRun }) => startedRun.unit.writes),
    });
    if (result.kind === 'applied') for (const { startedRun, payload } of recoveries) drive(startedRun, payload);
    return result;
  }
}
