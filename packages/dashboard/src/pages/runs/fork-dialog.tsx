/** Dialog that forks a run: starts a new run from any of its steps. Earlier results are kept; input and results can be edited. */
import { useId, useMemo, useState } from 'react';
import type { ForkedRun } from '../../../../everstep/src/contract/run-tools.js';
import type { RunJournal } from '../../../../everstep/src/contract/runs.js';
import { path } from '../../api/client.js';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { SelectField, TextField } from '../../components/fields.js';
import { prettyJson } from '../../components/json/json-text.js';
import { quantity } from '../../components/times/formats.js';
import { toastFailure } from '../../components/toasts.js';
import { readForkForm } from './fork-request.js';
import { useStepResult } from './journal/use-run-journal.js';

export interface ForkDialogProps {
  readonly journal: RunJournal;
  readonly onClose: () => void;
  readonly onForked: (run: ForkedRun) => void;
}

interface ForkStep {
  readonly stepId: number;
  readonly name: string;
  /** Result as JSON text; null if the step has not been recorded. */
  readonly out: string | null;
  /** Whether the result is missing because it is too long to be part of the journal. */
  readonly isOmitted?: boolean;
}

/** Returns recorded and open steps in order of their position. */
function stepsOf(journal: RunJournal): ForkStep[] {
  const steps = new Map<number, ForkStep>();
  for (const { stepId, stepName, out, outLeftOut } of journal.steps)
    steps.set(stepId, { stepId, name: stepName, out: out ?? '', isOmitted: outLeftOut !== undefined });
  for (const { stepId, stepName = 'unknown step' } of journal.tasks)
    if (stepId !== undefined && !steps.has(stepId)) steps.set(stepId, { stepId, name: stepName, out: null });
  return [...steps.values()].sort((a, b) => a.stepId - b.stepId);
}

export function ForkDialog({ journal, onClose, onForked }: ForkDialogProps) {
  const id = useId();
  const change = useChange();
  const steps = useMemo(() => stepsOf(journal), [journal]);
  const firstOpenStep = steps.find(({ out }) => out === null) ?? steps.at(-1);
  const [fromStep, setFromStep] = useState(firstOpenStep?.stepId ?? 1);
  const [input, setInput] = useState<string | null>(null);
  const [results, setResults] = useState<Readonly<Record<number, string>>>({});
  const [newRunId, setNewRunId] = useState('');
  const [note, setNote] = useState('');
  const form = readForkForm({ createdAt: journal.workflowCreatedAt, fromStep, input, results, newRunId, note });
  const problems = form.ok ? {} : form.problems.results;
  const keptCount = steps.filter(({ stepId, out }) => stepId < fromStep && out !== null).length;
  const editableSteps = steps.filter(({ stepId }) => stepId <= fromStep && results[stepId] === undefined);
  const editResult = (stepId: number, text: string | null) => {
    const { [stepId]: _removed, ...otherResults } = results;
    setResults(text === null ? otherResults : { ...otherResults, [stepId]: text });
  };
  const loadResult = useStepResult(journal);
  const startEdit = async ({ stepId, out, isOmitted = false }: ForkStep) => {
    const outcome = isOmitted ? await loadResult(stepId) : { ok: true as const, value: out ?? '' };
    if (outcome.ok) editResult(stepId, prettyJson(outcome.value));
    else toastFailure(outcome.failure);
  };
  const editedSteps = steps.filter(({ stepId }) => stepId <= fromStep && results[stepId] !== undefined);
  const originalInput = journal.input?.body ?? '';
  return (
    <ConfirmDialog
      title="Fork this run"
      open
      wide
      onClose={onClose}
      confirmText="Start fork"
      disabled={!form.ok}
      onConfirm={async () => {
        if (!form.ok) throw new Error('the fork form has invalid fields');
        const outcome = await change<ForkedRun>({
          url: path`/v2/workflows/runs/${journal.workflowRunId}/fork`,
          method: 'POST',
          body: form.request,
          topics: ['runs'],
          successText: 'Started the fork',
        });
        if (outcome.ok) onForked(outcome.value);
        return outcome;
      }}
    >
      <p className="muted">
        Starts 1 new run; this run does not change. This cannot be undone, but you can cancel the new run. Edits are marked in the
        new run and recorded in the audit log.
      </p>
      <SelectField
        label="Start from step"
        hint={`${keptCount === 0 ? 'No results are kept.' : `Results of ${quantity(keptCount, 'earlier step')} are kept.`} The new run executes this step and all later steps.`}
        value={fromStep}
        onChange={(step) => setFromStep(Number(step))}
      >
        {steps.length === 0 ? <option value={1}>1: first step</option> : null}
        {steps.map(({ stepId, name, out }) => (
          <option key={stepId} value={stepId}>
            {stepId}: {name}
            {out === null ? ' (not recorded)' : ''}
          </option>
        ))}
      </SelectField>
      <div className="field">
        <label className="line">
          <input
            type="checkbox"
            checked={input !== null}
            onChange={(event) => setInput(event.target.checked ? prettyJson(originalInput) : null)}
          />
          Edit input
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
      {editedSteps.map(({ stepId, name, out }) => (
        <div key={stepId} className="field">
          <label className="field-label" htmlFor={`${id}-${stepId}`}>
            Result of step {stepId}: {name}
          </label>
          <textarea
            id={`${id}-${stepId}`}
            className="input"
            rows={6}
            spellCheck={false}
            value={results[stepId]}
            aria-invalid={problems[stepId] !== undefined}
            aria-describedby={`${id}-${stepId}-hint`}
            onChange={(event) => editResult(stepId, event.target.value)}
          />
          <p id={`${id}-${stepId}-hint`} className={problems[stepId] === undefined ? 'field-hint' : 'field-error'}>
            {problems[stepId] ??
              (stepId === fromStep
                ? 'JSON. The step does not run; this is its result.'
                : 'JSON. Replaces the recorded result; empty means no result.')}
          </p>
          <div className="line">
            <button type="button" className="button button-small" onClick={() => editResult(stepId, null)}>
              {out === null ? 'Discard result and run the step' : 'Keep recorded result'}
            </button>
          </div>
        </div>
      ))}
      {editableSteps.length === 0 ? null : (
        <SelectField
          label="Edit or provide a result"
          value=""
          onChange={(chosenStepId) => {
            const step = steps.find(({ stepId }) => stepId === Number(chosenStepId));
            if (step) void startEdit(step);
          }}
        >
          <option value="">Select a step</option>
          {editableSteps.map(({ stepId, name }) => (
            <option key={stepId} value={stepId}>
              {stepId}: {name}
            </option>
          ))}
        </SelectField>
      )}
      <div className="run-pair">
        <TextField label="New run id" placeholder="Generated if empty" value={newRunId} onChange={setNewRunId} />
        <TextField label="Note" placeholder="Stored in the run and audit log" value={note} onChange={setNote} />
      </div>
    </ConfirmDialog>
  );
}
