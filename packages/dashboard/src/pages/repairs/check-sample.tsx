/** Asks the live endpoints, without running any step, whether the present code still fits what the failed runs recorded. */
import { Link } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';
import type { RepairEntry, RepairItemPage } from '../../../../everstep/src/contract/repairs.js';
import type { RunChecks } from '../../../../everstep/src/contract/run-tools.js';
import { path, request } from '../../api/client.js';
import { useMay, useQueueId } from '../../api/instances.js';
import type { Failure, Outcome } from '../../api/outcome.js';
import { useChange } from '../../api/queries.js';
import { DeedButton } from '../../components/deed-button.js';
import { countText, quantity } from '../../components/formats.js';
import { FailureNotice, Skeleton } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { parametersOf } from './covered.js';

type Check = RunChecks['checks'][number];

/** Few enough to ask without being told to; the others are asked for by hand. */
const ASKED_AT_ONCE = 20;
/** As many as one request of the API checks. */
const PORTION = 100;
const MOST_SHOWN = 20;
const MOST_RUNS = 200;
/** Their ids stand in the URL of the next plan. */
const MOST_PLANNED = 100;

/** Asks for the dead letters of a plan, a portion at a time; what was told so far is shown while it goes on. */
function useChecks({ repairId, counts: { total } }: RepairEntry) {
  const change = useChange();
  const queueId = useQueueId();
  const [checks, setChecks] = useState<readonly Check[] | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const stopped = useRef(false);
  const ask = useCallback(
    async (most: number) => {
      setBusy(true);
      setFailure(null);
      stopped.current = false;
      let told: readonly Check[] = [];
      let cursor: string | undefined;
      do {
        const count = Math.min(PORTION, most - told.length);
        // Those that the plan froze, and no others that have come since.
        const frozen: Outcome<RepairItemPage> = await request<RepairItemPage>(path`/v2/workflows/repairs/${repairId}/items`, {
          queueId,
          query: { count, cursor },
        });
        const outcome: Outcome<RunChecks> = frozen.ok
          ? await change<RunChecks>({
              url: '/v2/workflows/dlq/check',
              method: 'POST',
              body: { filter: { dlqIds: frozen.value.items.map(({ dlqId }) => dlqId) }, count },
              topics: [],
            })
          : frozen;
        if (!outcome.ok || !frozen.ok) {
          if (!outcome.ok) setFailure(outcome.failure);
          break;
        }
        told = [...told, ...outcome.value.checks];
        setChecks(told);
        cursor = frozen.value.cursor === '' ? undefined : frozen.value.cursor;
      } while (cursor !== undefined && told.length < most && !stopped.current);
      setBusy(false);
    },
    [change, repairId, queueId],
  );
  const stop = useCallback(() => {
    stopped.current = true;
  }, []);
  // Whoever leaves the page asks nobody any more.
  useEffect(() => stop, [stop]);
  return { checks, failure, busy, total, ask, stop };
}

export function CheckSample({ repair }: { readonly repair: RepairEntry }) {
  const may = useMay();
  const { checks, failure, busy, total, ask, stop } = useChecks(repair);
  const asked = useRef(false);
  useEffect(() => {
    if (asked.current || !may.write) return;
    asked.current = true;
    void ask(Math.min(ASKED_AT_ONCE, total));
  }, [ask, may.write, total]);
  return (
    <section className="card" aria-labelledby="plan-check">
      <div className="card-head">
        <h2 id="plan-check">Check before resume</h2>
        {busy && total > PORTION ? (
          <button type="button" className="button button-small" onClick={stop}>
            Stop asking
          </button>
        ) : null}
        <DeedButton small off={may.readOnly} busy={busy} onClick={() => ask(total)}>
          {busy ? 'Asking the endpoints …' : `Check all ${countText(total)} now`}
        </DeedButton>
      </div>
      <div className="card-body stack">
        <p className="muted">
          Whether the code that is deployed now still asks for the steps that are recorded. No step runs, nothing is recorded.
        </p>
        {failure === null ? null : <FailureNotice failure={failure} />}
        {checks === null ? busy ? <Skeleton lines={2} /> : null : <Results checks={checks} total={total} />}
      </div>
    </section>
  );
}

function Results({ checks, total }: { readonly checks: readonly Check[]; readonly total: number }) {
  const queueId = useQueueId();
  const of = (outcome: Check['outcome']) => checks.filter((check) => check.outcome === outcome);
  const [fits, differs, open] = [of('fits'), of('differs'), of('cannot-tell')];
  if (checks.length === 0) return <p role="status">There was nothing to check.</p>;
  return (
    <div className="stack">
      <p className="line" role="status">
        <span>
          Of {checks.length < total ? `${countText(checks.length)} of ` : ''}
          {quantity(total, 'run')}:
        </span>
        <StatusBadge tone="good">{`${countText(fits.length)} would replay`}</StatusBadge>
        <StatusBadge tone={differs.length === 0 ? 'quiet' : 'bad'} icon="cross">
          {`${countText(differs.length)} would not replay`}
        </StatusBadge>
        <StatusBadge tone={open.length === 0 ? 'quiet' : 'warn'} icon="warning">
          {`${countText(open.length)} cannot be told`}
        </StatusBadge>
      </p>
      {differs.length === 0 ? null : <Findings title="These would not replay: restart them, or mend the code" checks={differs} />}
      {differs.length === 0 ? null : (
        <div>
          <Link
            className="button button-small"
            to="/q/$queueId/repairs/new"
            params={{ queueId }}
            search={{ ...parametersOf({ dlqIds: dlqIdsOf(differs) }), action: 'restart' }}
          >
            Plan a restart of {differs.length > MOST_PLANNED ? `the first ${MOST_PLANNED} of ` : ''}
            {differs.length === 1 ? 'it' : `these ${countText(differs.length)}`} instead
          </Link>
        </div>
      )}
      {open.length === 0 ? null : <Findings title="Of these it cannot be told" checks={open} />}
    </div>
  );
}

const dlqIdsOf = (checks: readonly Check[]): string[] =>
  checks.slice(0, MOST_PLANNED).flatMap(({ dlqId }) => (dlqId === null ? [] : [dlqId]));

function Findings({ title, checks }: { readonly title: string; readonly checks: readonly Check[] }) {
  const queueId = useQueueId();
  // Many say the same: it is said once, with the runs that it is about.
  const byMessage = new Map<string, Check[]>();
  for (const check of checks) byMessage.set(check.message, [...(byMessage.get(check.message) ?? []), check]);
  return (
    <div>
      <h3>{title}</h3>
      <ul className="sentences">
        {[...byMessage].slice(0, MOST_SHOWN).map(([message, of]) => {
          return (
            <li key={message}>
              <details>
                <summary>
                  <strong className="numeric">{countText(of.length)}×</strong> {message}
                </summary>
                <ul className="check-runs">
                  {of.slice(0, MOST_RUNS).map(({ workflowRunId, workflowCreatedAt }) => (
                    <li key={`${workflowRunId} ${workflowCreatedAt}`}>
                      <Link
                        className="mono"
                        to="/q/$queueId/runs/$runId"
                        params={{ queueId, runId: workflowRunId }}
                        search={{ createdAt: String(workflowCreatedAt) }}
                      >
                        {workflowRunId}
                      </Link>
                    </li>
                  ))}
                  {of.length > MOST_RUNS ? <li className="muted">and {countText(of.length - MOST_RUNS)} more</li> : null}
                </ul>
              </details>
            </li>
          );
        })}
      </ul>
      {byMessage.size > MOST_SHOWN ? <p className="muted">and {countText(byMessage.size - MOST_SHOWN)} other findings</p> : null}
    </div>
  );
}
