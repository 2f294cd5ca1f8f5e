/** View of a plan: its effects, the included dead letters, the compatibility check, and the form that starts it. */
import type { ReactNode } from 'react';
import type { RepairEntry } from '../../../../everstep/src/contract/repairs.js';
import { EmptyState, Skeleton } from '../../components/states.js';
import { countText, durationText, quantity } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { UrlText } from '../../components/url-text.js';
import { PlanCompatibility } from './plan-compatibility.js';
import { RepairScope } from './repair-scope.js';
import { consequences } from './repair-text.js';
import { StartForm } from './start-form.js';

export function PlanView({ repair }: { readonly repair: RepairEntry }) {
  const { plan, counts, action, state, overrides } = repair;
  if (state === 'planning')
    return (
      <div className="card">
        <div className="card-body stack">
          <p role="status">Collecting dead letters: {countText(counts.total)} so far</p>
          <Skeleton lines={8} />
        </div>
      </div>
    );
  if (counts.total === 0)
    return (
      <div className="card">
        <EmptyState title="This plan is empty">
          No dead letters matched when the plan was created. They may already have been resumed, restarted or deleted.
        </EmptyState>
      </div>
    );
  return (
    <div className="plan-grid">
      <section className="card plan-effects" aria-labelledby="plan-effects">
        <div className="card-head">
          <h2 id="plan-effects">What will happen</h2>
        </div>
        <div className="card-body stack">
          <ul className="sentences">
            {consequences(repair).map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
            {action === 'delete' ? null : <OverrideSentence overrides={overrides} />}
          </ul>
        </div>
      </section>
      {/* Before the details: on a phone, the start is in view without scrolling. */}
      <div className="plan-side">
        <StartForm repair={repair} />
      </div>
      <div className="stack plan-details">
        <section className="card" aria-labelledby="plan-included">
          <div className="card-head">
            <h2 id="plan-included">Included in this repair</h2>
            <span className="muted">{countText(counts.total)} total, fixed when the plan was created</span>
          </div>
          <div className="card-body stack">
            {plan.more ? (
              <p className="notice" data-tone="warn">
                More dead letters match than one repair can include. When this repair is done, plan another one for the rest.
              </p>
            ) : null}
            <dl className="facts">
              {plan.oldestAt === null ? null : (
                <div>
                  <dt>Oldest failure</dt>
                  <dd>
                    <TimeText unixMs={plan.oldestAt} style="relative" />
                  </dd>
                </div>
              )}
              {plan.newestAt === null ? null : (
                <div>
                  <dt>Newest failure</dt>
                  <dd>
                    <TimeText unixMs={plan.newestAt} style="relative" />
                  </dd>
                </div>
              )}
              {plan.oldestAt === null || plan.newestAt === null ? null : (
                <div>
                  <dt>Time span</dt>
                  <dd>{durationText(plan.newestAt - plan.oldestAt)}</dd>
                </div>
              )}
            </dl>
            <h3>By workflow</h3>
            <Shares
              total={counts.total}
              rows={plan.workflows.map(({ workflowUrl, count }) => ({
                id: workflowUrl,
                name: <UrlText url={workflowUrl} />,
                count,
              }))}
            />
            {plan.groups.length === 0 ? null : (
              <>
                <h3>By error</h3>
                <Shares
                  total={counts.total}
                  rows={plan.groups.map(({ fingerprint, message, count }) => ({
                    id: fingerprint,
                    name: <span className="mono">{message}</span>,
                    count,
                  }))}
                />
              </>
            )}
            <details>
              <summary>Selected dead letters</summary>
              <RepairScope filter={repair.filter} />
            </details>
          </div>
        </section>
        {action === 'resume' ? <PlanCompatibility repair={repair} /> : null}
      </div>
    </div>
  );
}

function OverrideSentence({ overrides }: { readonly overrides: RepairEntry['overrides'] }) {
  const { retries, retryDelay, labels, flowControl } = overrides;
  const parts = [
    ...(retries === undefined ? [] : [`${quantity(retries, 'retry', 'retries')} per step`]),
    ...(retryDelay === undefined ? [] : [`a retry delay of “${retryDelay}” ms`]),
    ...(labels === undefined ? [] : [`labels ${labels.join(', ')}`]),
    ...(flowControl?.key === undefined ? [] : [`flow control key ${flowControl.key}`]),
    ...(flowControl?.parallelism === undefined ? [] : [`parallelism ${flowControl.parallelism}`]),
    ...(flowControl?.rate === undefined
      ? []
      : [`at most ${quantity(flowControl.rate, 'start')} per ${durationText(flowControl.periodMs ?? 1000)}`]),
  ];
  return parts.length === 0 ? (
    <li>The new runs keep the original settings: retries, labels, flow control and failure callback.</li>
  ) : (
    <li>The new runs use {parts.join('; ')}. Other settings do not change.</li>
  );
}

interface Share {
  readonly id: string;
  readonly name: ReactNode;
  readonly count: number;
}

function Shares({ rows, total }: { readonly rows: readonly Share[]; readonly total: number }) {
  const listedCount = rows.reduce((sum, { count }) => sum + count, 0);
  return (
    <ul className="shares">
      {rows.map(({ id, name, count }) => (
        <li key={id}>
          <span className="share-line">
            <span className="share-name">{name}</span>
            <strong className="numeric">{countText(count)}</strong>
          </span>
          <span className="share-bar" aria-hidden="true" style={{ width: `${Math.max(1, (count / total) * 100)}%` }} />
        </li>
      ))}
      {listedCount < total ? <li className="muted">and {quantity(total - listedCount, 'other')}</li> : null}
    </ul>
  );
}
