/** A new run from any step of this one: what was recorded before is kept, input and results may be edited. */
import { useId, useMemo, useState } from 'react';
import type { ForkedRun } from '../../../../everstep/src/contract/run-tools.js';
import type { RunJournal } from '../../../../everstep/src/contract/runs.js';
import { path } from '../../api/client.js';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { prettyJson, quantity } from '../../components/formats.js';
import { readForkForm } from './fork-request.js';

export interface ForkDialogProps {
  readonly journal: RunJournal;
  readonly onClose: () => void;
  readonly onForked: (run: ForkedRun) => void;
}

interface Place {
  readonly stepId: number;
  readonly name: string;
  /** JSON text; null where it has not been recorded. */
  readonly out: string | null;
}

/** Steps by position, recorded or not; and at last the one that would come next. */
function placesOf(journal: RunJournal): Place[] {
  const places = new Map<number, Place>();
  for (const { stepId, stepName, out } of journal.steps) places.set(stepId, { stepId, name: stepName, out: out ?? '' });
  for (const { stepId, stepName = 'not known yet' } of journal.tasks)
    if (stepId !== undefined && !places.has(stepId)) places.set(stepId, { stepId, name: stepName, out: null });
  return [...places.values()].sort((a, b) => a.stepId - b.stepId);
}

export function ForkDialog({ journal, onClose, onForked }: ForkDialogProps) {
  const id = useId();
  const change = useChange();
  const places = useMemo(() => placesOf(journal), [journal]);
  const failedAt = places.find(({ out }) => out === null) ?? places.at(-1);
  const [fromStep, setFromStep] = useState(failedAt?.stepId ?? 1);
  const [input, setInput] = useState<string | null>(null);
  const [results, setResults] = useState<Readonly<Record<number, string>>>({});
  const [newRunId, setNewRunId] = useState('');
  const [note, setNote] = useState('');
  const read = readForkForm({ createdAt: journal.workflowCreatedAt, fromStep, input, results, newRunId, note });
  const problems = read.ok ? {} : read.problems.results;
  const kept = places.filter(({ stepId, out }) => stepId < fromStep && out !== null).length;
  const free = places.filter(({ stepId }) => stepId <= fromStep && results[stepId] === undefined);
  const edit = (stepId: number, text: string | null) => {
    const { [stepId]: _removed, ...rest } = results;
    setResults(text === null ? rest : { ...rest, [stepId]: text });
  };
  const edited = places.filter(({ stepId }) => stepId <= fromStep && results[stepId] !== undefined);
  const originalInput = journal.input?.body ?? '';
  return (
    <ConfirmDialog
      title="Fork this run"
      open
      wide
      onClose={onClose}
      confirmText="Start the fork"
      disabled={!read.ok}
      onConfirm={async () => {
        if (!read.ok) throw new Error('the form is not complete');
        const outcome = await change<ForkedRun>({
          url: path`/v2/workflows/runs/${journal.workflowRunId}/fork`,
          method: 'POST',
          body: read.request,
          topics: ['runs'],
          done: 'The fork was started',
        });
        if (outcome.ok) onForked(outcome.value);
        return outcome;
      }}
    >
      <p className="muted">
        A new run is started; this one stays as it is. Edits are marked in the new run, and the audit log says who made them.
      </p>
      <div className="field">
        <label className="field-label" htmlFor={`${id}-from`}>
          Go on from
        </label>
        <select
          id={`${id}-from`}
          className="input"
          value={fromStep}
          onChange={(event) => setFromStep(Number(event.target.value))}
        >
          {places.length === 0 ? <option value={1}>1: the beginning</option> : null}
          {places.map(({ stepId, name, out }) => (
            <option key={stepId} value={stepId}>
              {stepId}: {name}
              {out === null ? ' (not recorded)' : ''}
            </option>
          ))}
        </select>
        <p className="field-hint">
          {kept === 0 ? 'Nothing recorded is kept' : `The results of ${quantity(kept, 'step')} before it are kept`}; it and what
          follows is done again.
        </p>
      </div>
      <div className="field">
        <label className="line">
          <input
            type="checkbox"
            checked={input !== null}
            onChange={(event) => setInput(event.target.checked ? prettyJson(originalInput) : null)}
          />
          Edit the input
        </label>
        {input === null ? null : (
          <textarea
            className="input"
            aria-label="Input of the new run"
            rows={8}
            spellCheck={false}
            value={input}
            onChange={(event) => setInput(event.target.value)}
          />
        )}
      </div>
      {edited.map(({ stepId, name, out }) => (
        <div key={stepId} className="field">
          <label className="field-label" htmlFor={`${id}-${stepId}`}>
            Result of {stepId}: {name}
          </label>
          <textarea
            id={`${id}-${stepId}`}
            className="input"
            rows={6}
            spellCheck={false}
            value={results[stepId]}
            aria-invalid={problems[stepId] !== undefined}
            aria-describedby={`${id}-${stepId}-hint`}
            onChange={(event) => edit(stepId, event.target.value)}
          />
          <p id={`${id}-${stepId}-hint`} className={problems[stepId] === undefined ? 'field-hint' : 'field-error'}>
            {problems[stepId] ??
              (stepId === fromStep
                ? 'JSON. The step is not done; this is its result.'
                : 'JSON. It replaces the recorded result; empty for none.')}
          </p>
          <div className="line">
            <button type="button" className="button button-small" onClick={() => edit(stepId, null)}>
              {out === null ? 'Let the step be done' : 'Keep the recorded result'}
            </button>
          </div>
        </div>
      ))}
      {free.length === 0 ? null : (
        <div className="field">
          <label className="field-label" htmlFor={`${id}-add`}>
            Edit or supply a result
          </label>
          <select
            id={`${id}-add`}
            className="input"
            value=""
            onChange={(event) => {
              const place = places.find(({ stepId }) => stepId === Number(event.target.value));
              if (place) edit(place.stepId, prettyJson(place.out ?? ''));
            }}
          >
            <option value="">Choose a step</option>
            {free.map(({ stepId, name }) => (
              <option key={stepId} value={stepId}>
                {stepId}: {name}
              </option>
            ))}
          </select>
        </div>
      )}
      <div className="run-pair">
        <div className="field">
          <label className="field-label" htmlFor={`${id}-id`}>
            Id of the new run
          </label>
          <input
            id={`${id}-id`}
            className="input"
            placeholder="One is made"
            value={newRunId}
            onChange={(event) => setNewRunId(event.target.value)}
          />
        </div>
        <div className="field">
          <label className="field-label" htmlFor={`${id}-note`}>
            Why
          </label>
          <input
            id={`${id}-note`}
            className="input"
            placeholder="For the run and the audit log"
            value={note}
            onChange={(event) => setNote(event.target.value)}
          />
        </div>
      </div>
    </ConfirmDialog>
  );
}
