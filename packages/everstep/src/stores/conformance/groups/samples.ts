/** Sample failures and their groups, and short forms of the calls that read and mark groups. */
import { type FailureGroup, type GroupState, groupState } from '../../../engine/dead-letters/dead-letter-groups.js';
import { groupOf } from '../../../engine/dead-letters/fingerprint.js';
import type { Run } from '../../../engine/runs/run.js';
import type { DeadLetterGroupFilter } from '../../../ports/stores/dead-letter-groups.js';
import type { AuditEntry, Store, StoreWrite } from '../../../ports/stores/store.js';
import { creation, failure, INSTANCE, sampleDeadLetter, sampleRun, T0 } from '../samples.js';

export const HOUR_MS = 3_600_000;
export const URL = 'https://app.test/a';

export const group = (message: string, workflowUrl = URL, kind: FailureGroup['kind'] = 'workflow'): FailureGroup =>
  groupOf({ kind, workflowUrl, stepName: 'pay-7', status: 500, cause: 'step', message });
export const NO_STOCK = group('no stock');

/** Returns the writes of run number `n`, which failed at that time. */
export function failedRun(n: number, at: number, failureGroup: FailureGroup | null = NO_STOCK): readonly StoreWrite[] {
  const run = sampleRun(n, { workflowUrl: failureGroup?.workflowUrl ?? URL });
  return [creation(run), ...failure(run, sampleDeadLetter(run, { createdAt: at }), failureGroup)];
}
export const dlqIdOf = (run: Run): string => `dlq_${run.key}`;
export const take = (n: number, recoveredAt: number | null): StoreWrite => ({
  kind: 'take-dead-letter',
  instanceId: INSTANCE,
  dlqId: dlqIdOf(sampleRun(n)),
  recoveredAs: recoveredAt === null ? null : { kind: 'resume', runKey: sampleRun(n).key, at: recoveredAt },
});
export const find = (store: Store, { fingerprint }: FailureGroup = NO_STOCK, now = T0 + HOUR_MS) =>
  store.deadLetterGroups.find({ instanceId: INSTANCE, fingerprint, now });
export const list = async (store: Store, filter: Partial<DeadLetterGroupFilter> = {}, now = T0) =>
  (
    await store.deadLetterGroups.list({
      instanceId: INSTANCE,
      filter: { kind: 'workflow', ...filter },
      now,
      after: null,
      limit: 100,
    })
  ).items;
export const messages = async (...parameters: Parameters<typeof list>) =>
  (await list(...parameters)).map(({ message }) => message);

let auditCount = 0;
export const audit = (): AuditEntry => ({
  auditId: `aud_${++auditCount}`,
  at: T0,
  actor: 'somebody',
  action: 'dead-letter-group.acknowledge',
  subject: NO_STOCK.fingerprint,
  details: {},
  address: '127.0.0.1',
  accountIds: ['usr_1'],
});
export const mark = (store: Store, kind: 'acknowledge' | 'resolve', at: number, failureGroup: FailureGroup = NO_STOCK) =>
  store.deadLetterGroups.mark({
    instanceId: INSTANCE,
    fingerprint: failureGroup.fingerprint,
    mark: { kind, at, by: 'somebody' },
    audit: audit(),
  });

export const stateOf = async (store: Store, now: number, failureGroup: FailureGroup = NO_STOCK): Promise<GroupState | null> => {
  const record = await find(store, failureGroup, now);
  return record && groupState(record, now);
};
