/** Forks runs: reads the original and writes the new run with its audit entry. */
import { withRequestDetails } from '../../audit/audited-request.js';
import { PART_LIMITS } from '../../config/limits.js';
import { newKey } from '../../engine/ids.js';
import { type ForkDecision, forkRun, type JournalEntry } from '../../engine/runs/fork.js';
import type { Run } from '../../engine/runs/run.js';
import type { AuditNote, StoreWrite } from '../../engine/writes.js';
import type { InstanceStore } from '../../ports/stores/accounts/instances.js';
import { readSteps } from '../../ports/stores/history-parts.js';
import type { HistoryStore } from '../../ports/stores/history-store.js';
import type { InstanceLimits } from '../../ports/stores/instance-limits.js';
import type { RunStore } from '../../ports/stores/run-store.js';
import { type RunStarts, referenceOf } from '../runs/run-starts.js';
import type { ForkCommand, ForkOutcome } from '../services/workflow-service.js';
import { commitInSlices, type StagingOptions } from './staging.js';

export interface ForksOptions extends StagingOptions, RunStarts {
  readonly store: StagingOptions['store'] & RunStore & { readonly accounts: InstanceStore };
  readonly limits: Pick<InstanceLimits, 'checkStorage'>;
}

/** Returns the audit entry. It names the edited steps, but not their new results. */
async function createAuditEntry(
  { store, context }: ForksOptions,
  original: Run,
  { fromStep, input, note, by }: ForkCommand,
  { run, edited }: Extract<ForkDecision, { kind: 'forked' }>,
): Promise<AuditNote> {
  const decisionContext = context();
  const accountId = (await store.accounts.findInstance({ instanceId: run.instanceId }))?.accountId;
  return withRequestDetails({
    auditId: `aud_${newKey(decisionContext)}`,
    at: decisionContext.now,
    ...by,
    action: 'run.fork',
    subject: run.workflowRunId,
    details: {
      queue: run.instanceId,
      of: original.workflowRunId,
      of_created_at: original.createdAt,
      from_step: fromStep,
      edited_steps: edited.join(','),
      edited_input: input !== null,
      note,
    },
    accountIds: accountId === undefined ? [] : [accountId],
  });
}

/** Returns the steps without their results. */
async function entriesOf(store: HistoryStore, runKey: string): Promise<readonly JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for await (const part of readSteps(store, { runKey, bounds: PART_LIMITS, maxOutBytes: 0 })) entries.push(...part);
  return entries;
}

/** Forks a run and starts the fork. */
export async function executeFork(options: ForksOptions, command: ForkCommand): Promise<ForkOutcome> {
  const { store } = options;
  const { runKey } = command;
  const original = await store.loadRun({ runKey });
  const payload = original && (await store.loadPayload({ runKey }));
  if (!original || !payload) return { kind: 'not-found' };
  const journal = await entriesOf(store, runKey);
  const fork = forkRun(original, journal, payload, command, options.context());
  if (fork.kind === 'refused') return fork;
  const { run, unit } = fork;
  const refusal = await options.limits.checkStorage(run.instanceId, run.journalBytes + fork.payload.body.length);
  if (refusal) return { kind: 'over-quota', message: refusal.message };
  const audit = await createAuditEntry(options, original, command, fork);
  const writes: StoreWrite[] = [...unit.writes, { kind: 'add-audit', entry: audit }];
  const result = await commitInSlices(options, { guards: unit.guards, writes });
  switch (result.kind) {
    case 'applied':
      options.drive(fork, fork.payload);
      return { kind: 'forked', run: referenceOf(fork) };
    case 'run-id-taken':
      return { kind: 'run-id-taken', run: result.run };
    case 'run-gone':
      return { kind: 'not-found' };
    default:
      throw new Error(`a fork cannot end as ${result.kind}`);
  }
}
