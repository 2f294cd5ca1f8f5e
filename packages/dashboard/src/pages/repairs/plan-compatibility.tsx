/** Checks whether the deployed code is compatible with the recorded steps of the failed runs. No step runs. */
import { Link } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';
import type { RepairEntry, RepairItemPage } from '../../../../everstep/src/contract/repairs.js';
import type { RunChecks } from '../../../../everstep/src/contract/run-tools.js';
import { path, request } from '../../api/client.js';
import { useInstanceId, usePermissions } from '../../api/instances.js';
import type { Failure, Outcome } from '../../api/outcome.js';
import { useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { FailureNotice, Skeleton } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { countText, quantity } from '../../components/times/formats.js';
import { parametersOf } from '../dead-letters/entry-filters.js';

type Check = RunChecks['checks'][number];

/** Number of runs that are checked automatically. The user starts the check of the others. */
const SAMPLE_SIZE = 20;
/** Maximum number of runs that one API request checks. */
const BATCH_SIZE = 100;
const MAX_FINDINGS = 20;
const MAX_RUNS_PER_FINDING = 200;
/** Maximum number of dead letter ids in the URL of the next plan. */
const MAX_PLANNED = 100;

/** Checks the dead letters of a plan in batches and shows the results after each batch. */
function useChecks({ repairId, counts: { total } }: RepairEntry) {
  const change = useChange();
  const instanceId = useInstanceId();
  const [checks, setChecks] = useState<readonly Check[] | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const isStopped = useRef(false);
  const check = useCallback(
    async (max: number) => {
      setBusy(true);
      setFailure(null);
      isStopped.current = false;
      let results: readonly Check[] = [];
      let cursor: string | undefined;
      do {
        const count = Math.min(BATCH_SIZE, max - results.length);
        // Only the dead letters of the plan, not those that arrived later.
        const items: Outcome<RepairItemPage> = await request<RepairItemPage>(path`/v2/workflows/repairs/${repairId}/items`, {
          instanceId,
          query: { count, cursor },
        });
        const outcome: Outcome<RunChecks> = items.ok
          ? await change<RunChecks>({
              url: '/v2/workflows/dlq/check',
              method: 'POST',
              body: { filter: { dlqIds: items.value.items.map(({ dlqId }) => dlqId) }, count },
              topics: [],
            })
          : items;
        if (!outcome.ok || !items.ok) {
          if (!outcome.ok) setFailure(outcome.failure);
          break;
        }
        results = [...results, ...outcome.value.checks];
        setChecks(results);
        cursor = items.value.cursor === '' ? undefined : items.value.cursor;
      } while (cursor !== undefined && results.length < max && !isStopped.current);
      setBusy(false);
    },
    [change, repairId, instanceId],
  );
  const stop = useCallback(() => {
    isStopped.current = true;
  }, []);
  // Stop checking when the user leaves the page.
  useEffect(() => stop, [stop]);
  return { checks, failure, busy, total, check, stop };
}

export function PlanCompatibility({ repair }: { readonly repair: RepairEntry }) {
  const permissions = usePermissions();
  const { checks, failure, busy, total, check, stop } = useChecks(repair);
  const hasStarted = useRef(false);
  useEffect(() => {
    if (hasStarted.current || !permissions.canWrite) return;
    hasStarted.current = true;
    void check(Math.min(SAMPLE_SIZE, total));
  }, [check, permissions.canWrite, total]);
  return (
    <section className="card" aria-labelledby="plan-check">
      <div className="card-head">
        <h2 id="plan-check">Replay compatibility</h2>
        {busy && total > BATCH_SIZE ? (
          <button type="button" className="button button-small" onClick={stop}>
            Stop
          </button>
        ) : null}
        <ActionButton small disabledReason={permissions.readOnlyReason} busy={busy} onClick={() => check(total)}>
          {busy ? 'Checking…' : `Check all ${countText(total)}`}
        </ActionButton>
      </div>
      <div className="card-body stack">
        <p className="muted">
          Checks whether the deployed code still requests the recorded steps. No steps are executed, and nothing is recorded. A
          compatible run can still fail.
        </p>
        {failure === null ? null : <FailureNotice failure={failure} />}
        {checks === null ? busy ? <Skeleton lines={2} /> : null : <Results checks={checks} total={total} />}
      </div>
    </section>
  );
}

function Results({ checks, total }: { readonly checks: readonly Check[]; readonly total: number }) {
  const instanceId = useInstanceId();
  const withOutcome = (outcome: Check['outcome']) => checks.filter((check) => check.outcome === outcome);
  const [compatible, incompatible, unknown] = [withOutcome('fits'), withOutcome('differs'), withOutcome('cannot-tell')];
  if (checks.length === 0) return <p role="status">No runs to check</p>;
  return (
    <div className="stack">
      <p className="line" role="status">
        <span>
          {checks.length < total ? `${countText(checks.length)} of ` : ''}
          {quantity(total, 'run')} checked:
        </span>
        <StatusBadge tone="good">{`${countText(compatible.length)} compatible`}</StatusBadge>
        <StatusBadge tone={incompatible.length === 0 ? 'quiet' : 'bad'} icon="cross">
          {`${countText(incompatible.length)} incompatible`}
        </StatusBadge>
        <StatusBadge tone={unknown.length === 0 ? 'quiet' : 'warn'} icon="warning">
          {`${countText(unknown.length)} unknown`}
        </StatusBadge>
      </p>
      {incompatible.length === 0 ? null : (
        <Findings title="Incompatible: restart these runs, or fix the code" checks={incompatible} />
      )}
      {incompatible.length === 0 ? null : (
        <div>
          <Link
            className="button button-small"
            to="/q/$instanceId/repairs/new"
            params={{ instanceId }}
            search={{ ...parametersOf({ dlqIds: dlqIdsOf(incompatible) }), action: 'restart' }}
          >
            Plan a restart of {incompatible.length > MAX_PLANNED ? `the first ${MAX_PLANNED} of ` : ''}
            {incompatible.length === 1 ? 'this run' : `these ${countText(incompatible.length)}`} instead
          </Link>
        </div>
      )}
      {unknown.length === 0 ? null : <Findings title="Could not be checked" checks={unknown} />}
    </div>
  );
}

const dlqIdsOf = (checks: readonly Check[]): string[] =>
  checks.slice(0, MAX_PLANNED).flatMap(({ dlqId }) => (dlqId === null ? [] : [dlqId]));

function Findings({ title, checks }: { readonly title: string; readonly checks: readonly Check[] }) {
  const instanceId = useInstanceId();
  // Groups runs with the same message.
  const byMessage = new Map<string, Check[]>();
  for (const check of checks) byMessage.set(check.message, [...(byMessage.get(check.message) ?? []), check]);
  return (
    <div>
      <h3>{title}</h3>
      <ul className="sentences">
        {[...byMessage].slice(0, MAX_FINDINGS).map(([message, messageChecks]) => {
          return (
            <li key={message}>
              <details>
                <summary>
                  <strong className="numeric">{countText(messageChecks.length)}×</strong> {message}
                </summary>
                <ul className="check-runs">
                  {messageChecks.slice(0, MAX_RUNS_PER_FINDING).map(({ workflowRunId, workflowCreatedAt }) => (
                    <li key={`${workflowRunId} ${workflowCreatedAt}`}>
                      <Link
                        className="mono"
                        to="/q/$instanceId/runs/$runId"
                        params={{ instanceId, runId: workflowRunId }}
                        search={{ createdAt: String(workflowCreatedAt) }}
                      >
                        {workflowRunId}
                      </Link>
                    </li>
                  ))}
                  {messageChecks.length > MAX_RUNS_PER_FINDING ? (
                    <li className="muted">and {countText(messageChecks.length - MAX_RUNS_PER_FINDING)} more</li>
                  ) : null}
                </ul>
              </details>
            </li>
          );
        })}
      </ul>
      {byMessage.size > MAX_FINDINGS ? (
        <p className="muted">and {quantity(byMessage.size - MAX_FINDINGS, 'other finding')}</p>
      ) : null}
    </div>
  );
}
