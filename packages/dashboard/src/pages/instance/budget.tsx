/** Usage and budget of the instance: chart, budget, alerts and rejected requests. */
import { useId, useState } from 'react';
import type { InstanceRecord, InstanceUsage, QueueStats } from '../../../../everstep/src/contract/management.js';
import { path } from '../../api/client.js';
import { useApi, useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { Card } from '../../components/card.js';
import { DescriptionList } from '../../components/description-list.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextField } from '../../components/fields.js';
import { Loaded } from '../../components/loading/loaded.js';
import { bytesText, countText, quantity } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { DayChart, dollarText } from './day-chart.js';

const PERIODS = [30, 90, 365] as const;
const REFRESH_MS = 15_000;

const storageText = ({ account_bytes: bytes, max_bytes: max }: QueueStats['storage']): string =>
  max === null ? `${bytesText(bytes)}, no limit` : `${bytesText(bytes)} of ${bytesText(max)}`;

export function BudgetCard({ instance }: { readonly instance: InstanceRecord }) {
  const { id, budget, budget_alert_url: alertUrl, role } = instance;
  const canChangeBudget = role === 'owner' || role === 'admin' || role === 'finance';
  const [days, setDays] = useState<number>(PERIODS[0]);
  const [openDialog, setOpenDialog] = useState<'budget' | 'alert' | null>(null);
  const periodId = useId();
  const usage = useApi<InstanceUsage>({
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
  const spentDollars = usage.data?.spent_this_month;
  const storage = stats.data?.storage;
  const disabledReason = canChangeBudget ? undefined : 'Only owners, admins and finance members can change the budget';
  return (
    <Card
      title="Usage and budget"
      actions={
        <div className="line">
          <label htmlFor={periodId} className="visually-hidden">
            Period
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
        <Loaded query={usage} lines={5}>
          {({ days: usedDays }) => <DayChart days={usedDays} />}
        </Loaded>
        {spentDollars !== undefined && budget > 0 ? (
          <div>
            <div
              className="budget-bar"
              role="progressbar"
              aria-label="Share of this month's budget spent"
              aria-valuemin={0}
              aria-valuemax={budget}
              aria-valuenow={Math.min(spentDollars, budget)}
            >
              <span
                className="budget-spent"
                data-level={spentDollars >= budget ? 'bad' : spentDollars >= budget * 0.8 ? 'warn' : 'good'}
                style={{ width: `${Math.min(100, (spentDollars / budget) * 100)}%` }}
              />
            </div>
          </div>
        ) : null}
        <DescriptionList
          items={[
            ['Spent this month', spentDollars === undefined ? '…' : dollarText(spentDollars)],
            ['Monthly budget', budget === 0 ? 'no limit' : dollarText(budget)],
            ['Budget alerts at 80% and 100%', alertUrl ?? 'off'],
            ['Runs started today', countText(instance.requests_today)],
            ['Stored by this instance', storage ? bytesText(storage.instance_bytes) : '…'],
            ['Stored by the account', storage ? storageText(storage) : '…'],
          ]}
        />
        <div className="line">
          <ActionButton disabledReason={disabledReason} onClick={() => setOpenDialog('budget')}>
            Change budget
          </ActionButton>
          <ActionButton disabledReason={disabledReason} onClick={() => setOpenDialog('alert')}>
            Edit budget alerts
          </ActionButton>
        </div>
        {stats.data && stats.data.refused.length > 0 ? (
          <div className="notice" data-tone="bad" role="alert">
            <span>Currently rejected: {stats.data.refused.join('; ')}</span>
          </div>
        ) : null}
        {stats.data && stats.data.refusals.length > 0 ? (
          <div>
            <h3>Rejected requests</h3>
            <ul className="rejected-requests">
              {stats.data.refusals.map(({ kind, count, last_time: lastTime }) => (
                <li key={kind}>
                  <span className="mono">{kind}</span> {quantity(count, 'time')}, last <TimeText unixMs={lastTime * 1000} />
                </li>
              ))}
            </ul>
          </div>
        ) : null}
      </div>
      {openDialog === 'budget' ? <BudgetDialog id={id} budget={budget} onClose={() => setOpenDialog(null)} /> : null}
      {openDialog === 'alert' ? <BudgetAlertDialog id={id} url={alertUrl ?? ''} onClose={() => setOpenDialog(null)} /> : null}
    </Card>
  );
}

function BudgetDialog({ id, budget, onClose }: { readonly id: string; readonly budget: number; readonly onClose: () => void }) {
  const [text, setText] = useState(String(budget));
  const change = useChange();
  const isValid = /^\d{1,9}$/.test(text);
  return (
    <ConfirmDialog
      title="Monthly budget"
      open
      onClose={onClose}
      confirmText="Set budget"
      disabled={!isValid}
      onConfirm={() =>
        change({
          method: 'PATCH',
          url: path`/v2/queue/update-budget/${id}`,
          body: { budget: Number(text) },
          topics: ['account'],
          isManagementCall: true,
          successText: 'Saved the budget',
        })
      }
    >
      <p>
        When the budget is spent, new runs, messages and schedules are rejected until the month ends (UTC) or you raise the
        budget. Runs that have started continue.
      </p>
      <TextField
        label="Dollars (0 for no limit)"
        inputMode="numeric"
        value={text}
        aria-invalid={!isValid}
        onChange={(value) => setText(value.trim())}
      />
    </ConfirmDialog>
  );
}

function BudgetAlertDialog({ id, url, onClose }: { readonly id: string; readonly url: string; readonly onClose: () => void }) {
  const [text, setText] = useState(url);
  const change = useChange();
  const alertUrl = text.trim();
  return (
    <ConfirmDialog
      title="Budget alerts"
      open
      onClose={onClose}
      confirmText={alertUrl === '' ? 'Turn off alerts' : 'Save alerts'}
      disabled={alertUrl !== '' && !/^https?:\/\/[^\s/]/.test(alertUrl)}
      onConfirm={() =>
        change({
          method: 'POST',
          url: path`/v2/queue/set-budget-alert/${id}`,
          body: { url: alertUrl === '' ? null : alertUrl },
          topics: ['account'],
          isManagementCall: true,
          successText: alertUrl === '' ? 'Turned off budget alerts' : 'Turned on budget alerts at 80% and 100%',
        })
      }
    >
      <p>Everstep sends a signed request to this URL when 80% of the monthly budget is spent, and again at 100%.</p>
      <TextField label="URL (empty for no alerts)" mono value={text} onChange={setText} />
    </ConfirmDialog>
  );
}
