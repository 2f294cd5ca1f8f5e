/** Page that plans a repair. The URL selects the dead letters; the user chooses the action. A plan changes nothing. */
import './repairs.css';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useId, useMemo, useState } from 'react';
import type { PlanRepair, RepairEntry } from '../../../../everstep/src/contract/repairs.js';
import { useInstanceId, usePermissions } from '../../api/instances.js';
import type { Failure } from '../../api/outcome.js';
import { useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { PageTitle } from '../../components/page-title.js';
import { ReadOnlyNote } from '../../components/read-only-note.js';
import { NO_OVERRIDES, OverrideFields, overridesIn } from '../../components/run-overrides.js';
import { FailureNotice } from '../../components/states.js';
import { filterOf, invalidLabelsOf } from '../dead-letters/entry-filters.js';
import { RepairScope } from './repair-scope.js';
import type { RepairAction } from './repair-text.js';

const ACTIONS = [
  { action: 'resume', name: 'Resume', text: 'Continue at the step that failed. Results of earlier steps are kept.' },
  { action: 'restart', name: 'Restart', text: 'Start again at the first step with the same input. All steps run again.' },
  {
    action: 'delete',
    name: 'Delete',
    text: 'Remove the dead letters without running anything. You can undo this for a limited time.',
  },
] as const satisfies readonly { readonly action: RepairAction; readonly name: string; readonly text: string }[];

export default function NewRepairPage() {
  const instanceId = useInstanceId();
  const permissions = usePermissions();
  const search: Readonly<Record<string, string>> = useSearch({ strict: false });
  const filter = useMemo(() => filterOf(search), [search]);
  const invalidLabels = invalidLabelsOf(search);
  const disabledReason =
    permissions.readOnlyReason ?? (invalidLabels.length === 0 ? undefined : `Invalid filter: ${invalidLabels.join(', ')}`);
  const navigate = useNavigate();
  const change = useChange();
  const id = useId();
  const [action, setAction] = useState<RepairAction>(
    () => ACTIONS.find((candidate) => candidate.action === search.action)?.action ?? 'resume',
  );
  const [overrideTexts, setOverrideTexts] = useState(NO_OVERRIDES);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const plan = async (event: FormEvent) => {
    event.preventDefault();
    if (disabledReason !== undefined) return;
    setBusy(true);
    setFailure(null);
    const overrides = action === 'delete' ? undefined : overridesIn(overrideTexts);
    // The API requires a filter to delete everything. This one matches all dead letters.
    const planFilter = action === 'delete' && Object.keys(filter).length === 0 ? { fromDate: 0 } : filter;
    const body: PlanRepair = { action, filter: planFilter, ...(overrides === undefined ? {} : { overrides }) };
    const outcome = await change<RepairEntry>({ url: '/v2/workflows/repairs', method: 'POST', body, topics: ['repairs'] });
    setBusy(false);
    if (!outcome.ok) return setFailure(outcome.failure);
    await navigate({
      to: '/q/$instanceId/repairs/$repairId',
      params: { instanceId, repairId: outcome.value.repairId },
      replace: true,
    });
  };
  return (
    <>
      <PageTitle
        title="Plan repair"
        lead="A plan changes nothing. It freezes the list of dead letters and shows what would happen. You then start or discard the plan."
      />
      <form className="plan-grid" onSubmit={plan}>
        <section className="card" aria-labelledby={`${id}-action-heading`}>
          <div className="card-head">
            <h2 id={`${id}-action-heading`}>Action</h2>
          </div>
          <div className="card-body stack">
            <fieldset className="choices">
              <legend className="visually-hidden">Action</legend>
              {ACTIONS.map(({ action: value, name, text }) => (
                <label key={value} className="choice">
                  <input
                    type="radio"
                    name={`${id}-action`}
                    value={value}
                    checked={action === value}
                    onChange={() => setAction(value)}
                  />
                  <span className="choice-name">{name}</span>
                  <span className="choice-text">{text}</span>
                </label>
              ))}
            </fieldset>
            {action === 'delete' ? null : (
              <OverrideFields purpose="replacing-runs" texts={overrideTexts} onChange={setOverrideTexts} />
            )}
            {failure === null ? null : <FailureNotice failure={failure} />}
            <div className="line">
              <ActionButton submits variant="primary" disabledReason={disabledReason} busy={busy}>
                {busy ? 'Collecting dead letters…' : 'Create plan'}
              </ActionButton>
              <Link to="/q/$instanceId/dead-letters" params={{ instanceId }} className="button button-quiet">
                Back to dead letters
              </Link>
            </div>
            <ReadOnlyNote />
          </div>
        </section>
        <section className="card plan-side" aria-labelledby={`${id}-covered`}>
          <div className="card-head">
            <h2 id={`${id}-covered`}>Selected dead letters</h2>
          </div>
          <div className="card-body">
            {invalidLabels.length === 0 ? (
              <RepairScope filter={filter} />
            ) : (
              <p className="notice" data-tone="bad" role="alert">
                The URL contains an invalid value for {invalidLabels.map((label) => `“${label}”`).join(', ')}. Go back to the dead
                letters and set the filters again.
              </p>
            )}
          </div>
        </section>
      </form>
    </>
  );
}
