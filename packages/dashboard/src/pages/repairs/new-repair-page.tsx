/** The beginning of a repair: what is covered (in the URL), what is to be done with it. The plan itself changes nothing yet. */
import './repairs.css';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useId, useMemo, useState } from 'react';
import type { PlanRepair, RepairEntry } from '../../../../everstep/src/contract/repairs.js';
import { useMay, useQueueId } from '../../api/instances.js';
import type { Failure } from '../../api/outcome.js';
import { useChange } from '../../api/queries.js';
import { DeedButton } from '../../components/deed-button.js';
import { PageTitle } from '../../components/page-title.js';
import { ReadOnlyNote } from '../../components/read-only-note.js';
import { NO_OVERRIDES, OverrideFields, overridesIn } from '../../components/run-overrides.js';
import { FailureNotice } from '../../components/states.js';
import { filterOf } from './covered.js';
import { Covered } from './covered-list.js';
import type { RepairAction } from './repair-words.js';

const ACTIONS = [
  { action: 'resume', name: 'Resume', text: 'Go on at the step that failed. What was recorded before it is kept.' },
  { action: 'restart', name: 'Restart', text: 'Begin again at the first step, with the same input. Everything is done again.' },
  { action: 'delete', name: 'Delete', text: 'Take them out of the queue without doing anything. It can be undone for a while.' },
] as const satisfies readonly { readonly action: RepairAction; readonly name: string; readonly text: string }[];

export default function NewRepairPage() {
  const queueId = useQueueId();
  const may = useMay();
  const search: Readonly<Record<string, string>> = useSearch({ strict: false });
  const filter = useMemo(() => filterOf(search), [search]);
  const navigate = useNavigate();
  const change = useChange();
  const id = useId();
  const [action, setAction] = useState<RepairAction>(
    () => ACTIONS.find((each) => each.action === search.action)?.action ?? 'resume',
  );
  const [texts, setTexts] = useState(NO_OVERRIDES);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const plan = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setFailure(null);
    const overrides = action === 'delete' ? undefined : overridesIn(texts);
    // A delete of everything has to be meant: it needs a filter, and this one lets everything through.
    const asked = action === 'delete' && Object.keys(filter).length === 0 ? { fromDate: 0 } : filter;
    const body: PlanRepair = { action, filter: asked, ...(overrides === undefined ? {} : { overrides }) };
    const outcome = await change<RepairEntry>({ url: '/v2/workflows/repairs', method: 'POST', body, topics: ['repairs'] });
    setBusy(false);
    if (!outcome.ok) return setFailure(outcome.failure);
    await navigate({
      to: '/q/$queueId/repairs/$repairId',
      params: { queueId, repairId: outcome.value.repairId },
      replace: true,
    });
  };
  return (
    <>
      <PageTitle
        title="Plan a repair"
        lead="A plan changes nothing: it fixes which dead letters are meant, and says what would happen. You start it, or put it away."
      />
      <form className="plan-grid" onSubmit={plan}>
        <section className="card" aria-labelledby={`${id}-what`}>
          <div className="card-head">
            <h2 id={`${id}-what`}>What is to be done</h2>
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
            {action === 'delete' ? null : <OverrideFields texts={texts} onChange={setTexts} />}
            {failure === null ? null : <FailureNotice failure={failure} />}
            <div className="line">
              <DeedButton submits look="primary" off={may.readOnly} busy={busy}>
                {busy ? 'Gathering the dead letters …' : 'Make the plan'}
              </DeedButton>
              <Link to="/q/$queueId/dead-letters" params={{ queueId }} className="button button-quiet">
                Back to the dead letters
              </Link>
            </div>
            <ReadOnlyNote />
          </div>
        </section>
        <section className="card plan-side" aria-labelledby={`${id}-covered`}>
          <div className="card-head">
            <h2 id={`${id}-covered`}>What it covers</h2>
          </div>
          <div className="card-body">
            <Covered filter={filter} />
          </div>
        </section>
      </form>
    </>
  );
}
