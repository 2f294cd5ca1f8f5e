/** What the instance has used, and what it may: the chart, the budget, who is told, and what was refused. */
import { useId, useState } from 'react';
import type { QueueRecord, QueueStats, QueueUsage } from '../../../../everstep/src/contract/management.js';
import { path } from '../../api/client.js';
import { useApi, useChange } from '../../api/queries.js';
import { Card } from '../../components/card.js';
import { DeedButton } from '../../components/deed-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { Facts } from '../../components/facts.js';
import { bytesText, countText } from '../../components/formats.js';
import { FailureNotice, Skeleton } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { DayChart, dollarText } from './day-chart.js';

const PERIODS = [30, 90, 365] as const;
const REFRESH_MS = 15_000;

const storedText = ({ account_bytes: bytes, max_bytes: max }: QueueStats['storage']): string =>
  `${bytesText(bytes)} of ${max === null ? 'no limit' : bytesText(max)}`;

export function Budget({ instance }: { readonly instance: QueueRecord }) {
  const { id, budget, budget_alert_url: alertUrl, role } = instance;
  const mayPay = role === 'owner' || role === 'admin' || role === 'finance';
  const [days, setDays] = useState<number>(PERIODS[0]);
  const [editing, setEditing] = useState<'budget' | 'alert' | null>(null);
  const periodId = useId();
  const usage = useApi<QueueUsage>({
    topic: 'account',
    name: 'usage',
    url: path`/v2/queue/usage/${id}`,
    query: { days },
    refreshMs: REFRESH_MS,
    keepPrevious: true,
  });
  const stats = useApi<QueueStats>({
    topic: 'account',
    name: 'stats',
    url: path`/v2/queue/stats/${id}`,
    refreshMs: REFRESH_MS,
  });
  const spent = usage.data?.spent_this_month;
  const stored = stats.data?.storage;
  const why = mayPay ? undefined : 'Your role may not change what is paid';
  return (
    <Card
      title="Usage and budget"
      actions={
        <div className="line">
          <label htmlFor={periodId} className="visually-hidden">
            Days shown
          </label>
          <select id={periodId} className="input" value={days} onChange={(event) => setDays(Number(event.target.value))}>
            {PERIODS.map((period) => (
              <option key={period} value={period}>
                Last {period} days
              </option>
            ))}
          </select>
        </div>
      }
    >
      <div className="stack">
        {usage.isPending ? (
          <Skeleton lines={5} />
        ) : usage.error && !usage.data ? (
          <FailureNotice failure={usage.error} onRetry={() => void usage.refetch()} />
        ) : usage.data ? (
          <DayChart days={usage.data.days} />
        ) : null}
        {spent !== undefined && budget > 0 ? (
          <div>
            <div
              className="budget-bar"
              role="progressbar"
              aria-label="Spent of the budget of this month"
              aria-valuemin={0}
              aria-valuemax={budget}
              aria-valuenow={Math.min(spent, budget)}
            >
              <span
                className="budget-spent"
                data-level={spent >= budget ? 'bad' : spent >= budget * 0.8 ? 'warn' : 'good'}
                style={{ width: `${Math.min(100, (spent / budget) * 100)}%` }}
              />
            </div>
          </div>
        ) : null}
        <Facts
          facts={[
            ['Spent this month', spent === undefined ? '…' : dollarText(spent)],
            ['Budget a month', budget === 0 ? 'no limit' : dollarText(budget)],
            ['Told at 80 % and 100 %', alertUrl ?? 'nobody'],
            ['Started today', countText(instance.requests_today)],
            ['Stored here', stored ? bytesText(stored.instance_bytes) : '…'],
            ['Stored by the account', stored ? storedText(stored) : '…'],
          ]}
        />
        <div className="line">
          <DeedButton off={why} onClick={() => setEditing('budget')}>
            Change the budget
          </DeedButton>
          <DeedButton off={why} onClick={() => setEditing('alert')}>
            Change who is told
          </DeedButton>
        </div>
        {stats.data && stats.data.refused.length > 0 ? (
          <div className="notice" data-tone="bad" role="alert">
            <span>Refused now: {stats.data.refused.join('; ')}</span>
          </div>
        ) : null}
        {stats.data && stats.data.refusals.length > 0 ? (
          <div>
            <h3>What was refused</h3>
            <ul className="refusals">
              {stats.data.refusals.map(({ kind, count, last_time: lastTime }) => (
                <li key={kind}>
                  <span className="mono">{kind}</span> {countText(count)} times, last <TimeText unixMs={lastTime * 1000} />
                </li>
              ))}
            </ul>
          </div>
        ) : null}
      </div>
      {editing === 'budget' ? <BudgetDialog id={id} budget={budget} onClose={() => setEditing(null)} /> : null}
      {editing === 'alert' ? <AlertDialog id={id} url={alertUrl ?? ''} onClose={() => setEditing(null)} /> : null}
    </Card>
  );
}

function BudgetDialog({ id, budget, onClose }: { readonly id: string; readonly budget: number; readonly onClose: () => void }) {
  const field = useId();
  const [text, setText] = useState(String(budget));
  const change = useChange();
  const good = /^\d{1,9}$/.test(text);
  return (
    <ConfirmDialog
      title="Budget of a month"
      open
      onClose={onClose}
      confirmText="Set the budget"
      disabled={!good}
      onConfirm={() =>
        change({
          method: 'PATCH',
          url: path`/v2/queue/update-budget/${id}`,
          body: { budget: Number(text) },
          topics: ['account'],
          account: true,
          done: 'The budget is set',
        })
      }
    >
      <p>When it is spent, nothing new is started until the month ends (UTC) or the budget is raised. What has begun goes on.</p>
      <div className="field">
        <label className="field-label" htmlFor={field}>
          Dollars, 0 for no limit
        </label>
        <input
          id={field}
          className="input"
          inputMode="numeric"
          value={text}
          aria-invalid={!good}
          onChange={(event) => setText(event.target.value.trim())}
        />
      </div>
    </ConfirmDialog>
  );
}

function AlertDialog({ id, url, onClose }: { readonly id: string; readonly url: string; readonly onClose: () => void }) {
  const field = useId();
  const [text, setText] = useState(url);
  const change = useChange();
  const wanted = text.trim();
  return (
    <ConfirmDialog
      title="Who is told"
      open
      onClose={onClose}
      confirmText={wanted === '' ? 'Tell nobody' : 'Tell this URL'}
      disabled={wanted !== '' && !/^https?:\/\/[^\s/]/.test(wanted)}
      onConfirm={() =>
        change({
          method: 'POST',
          url: path`/v2/queue/set-budget-alert/${id}`,
          body: { url: wanted === '' ? null : wanted },
          topics: ['account'],
          account: true,
          done: wanted === '' ? 'Nobody is told' : 'It is told at 80 % and 100 %',
        })
      }
    >
      <p>This URL is sent a signed request when 80 % and when 100 % of the budget of the month are spent.</p>
      <div className="field">
        <label className="field-label" htmlFor={field}>
          URL, empty for nobody
        </label>
        <input id={field} className="input mono" value={text} onChange={(event) => setText(event.target.value)} />
      </div>
    </ConfirmDialog>
  );
}
