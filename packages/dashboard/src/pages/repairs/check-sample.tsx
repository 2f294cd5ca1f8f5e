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

type Check = RunChecks['checks'][number];

/** Few enough to ask without being told to; the rest of a sample is asked for by hand. */
const ASKED_AT_ONCE = 20;
const SAMPLE = 100;
const MOST_SHOWN = 20;

export function CheckSample({ repair }: { readonly repair: RepairEntry }) {
  const may = useMay();
  const change = useChange();
  const [checks, setChecks] = useState<readonly Check[] | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const { repairId } = repair;
  const queueId = useQueueId();
  const ask = useCallback(
    async (count: number) => {
      setBusy(true);
      setFailure(null);
      // Those that the plan froze, and no others that have come since.
      const frozen = await request<RepairItemPage>(path`/v2/workflows/repairs/${repairId}/items`, {
        queueId,
        query: { count },
      });
      const outcome: Outcome<RunChecks> = frozen.ok
        ? await change<RunChecks>({
            url: '/v2/workflows/dlq/check',
            method: 'POST',
            body: { filter: { dlqIds: frozen.value.items.map(({ dlqId }) => dlqId) }, count },
            topics: [],
          })
        : frozen;
      setBusy(false);
      if (outcome.ok) setChecks(outcome.value.checks);
      else setFailure(outcome.failure);
    },
    [change, repairId, queueId],
  );
  const asked = useRef(false);
  useEffect(() => {
    if (asked.current || !may.write) return;
    asked.current = true;
    void ask(Math.min(ASKED_AT_ONCE, repair.counts.total));
  }, [ask, may.write, repair.counts.total]);
  const sample = Math.min(SAMPLE, repair.counts.total);
  return (
    <section className="card" aria-labelledby="plan-check">
      <div className="card-head">
        <h2 id="plan-check">Check before resume</h2>
        <DeedButton small off={may.readOnly} busy={busy} onClick={() => ask(sample)}>
          {busy ? 'Asking the endpoints …' : `Check ${countText(sample)} now`}
        </DeedButton>
      </div>
      <div className="card-body stack">
        <p className="muted">
          Whether the code that is deployed now still asks for the steps that are recorded. No step runs, nothing is recorded.
        </p>
        {failure === null ? null : <FailureNotice failure={failure} />}
        {checks === null ? busy ? <Skeleton lines={2} /> : null : <Results checks={checks} />}
      </div>
    </section>
  );
}

function Results({ checks }: { readonly checks: readonly Check[] }) {
  const of = (outcome: Check['outcome']) => checks.filter((check) => check.outcome === outcome);
  const [fits, differs, open] = [of('fits'), of('differs'), of('cannot-tell')];
  if (checks.length === 0) return <p role="status">There was nothing to check.</p>;
  return (
    <div className="stack">
      <p className="line" role="status">
        <span>Of {quantity(checks.length, 'run')}:</span>
        <StatusBadge tone="good">{`${countText(fits.length)} would replay`}</StatusBadge>
        <StatusBadge tone={differs.length === 0 ? 'quiet' : 'bad'} icon="cross">
          {`${countText(differs.length)} would not replay`}
        </StatusBadge>
        <StatusBadge tone={open.length === 0 ? 'quiet' : 'warn'} icon="warning">
          {`${countText(open.length)} cannot be told`}
        </StatusBadge>
      </p>
      {differs.length === 0 ? null : <Findings title="These would not replay: restart them, or mend the code" checks={differs} />}
      {open.length === 0 ? null : <Findings title="Of these it cannot be told" checks={open} />}
    </div>
  );
}

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
          const [first] = of;
          return (
            <li key={message}>
              <strong className="numeric">{countText(of.length)}×</strong> {message}
              {first === undefined ? null : (
                <>
                  {' '}
                  <Link
                    to="/q/$queueId/runs/$runId"
                    params={{ queueId, runId: first.workflowRunId }}
                    search={{ createdAt: String(first.workflowCreatedAt) }}
                  >
                    {of.length === 1 ? 'The run' : 'One of the runs'}
                  </Link>
                </>
              )}
            </li>
          );
        })}
      </ul>
      {byMessage.size > MOST_SHOWN ? <p className="muted">and {countText(byMessage.size - MOST_SHOWN)} other findings</p> : null}
    </div>
  );
}
