/** Dialog that runs a workflow again with the same or an edited input. The new run keeps all settings of this run. */
import { useState } from 'react';
import type { ForkedRun, ForkRequest } from '../../../../everstep/src/contract/run-tools.js';
import type { RunJournal } from '../../../../everstep/src/contract/runs.js';
import { path } from '../../api/client.js';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextArea } from '../../components/fields.js';
import { prettyJson } from '../../components/json/json-text.js';
import { workflowName } from '../../components/urls/workflow-name.js';

export interface RunAgainDialogProps {
  readonly journal: RunJournal;
  readonly onClose: () => void;
  readonly onStarted: (run: ForkedRun) => void;
}

const FIRST_STEP = 1;

export default function RunAgainDialog({ journal, onClose, onStarted }: RunAgainDialogProps) {
  const change = useChange();
  const originalInput = prettyJson(journal.input?.body ?? '');
  const [input, setInput] = useState(originalInput);
  const isEdited = input !== originalInput;
  const isText = journal.input !== undefined && journal.input.bodyBase64 === undefined;
  // A fork from the first step: a new run with no recorded steps, and with the settings and the headers of this one.
  const body: ForkRequest = {
    createdAt: journal.workflowCreatedAt,
    fromStep: FIRST_STEP,
    ...(isEdited ? { input: { body: input } } : {}),
  };
  return (
    <ConfirmDialog
      title={`Run ${workflowName(journal.workflowUrl)} again`}
      open
      wide
      onClose={onClose}
      confirmText={isEdited ? 'Run with edited input' : 'Run again'}
      onConfirm={async () => {
        const outcome = await change<ForkedRun>({
          url: path`/v2/workflows/runs/${journal.workflowRunId}/fork`,
          method: 'POST',
          body,
          topics: ['runs'],
          successText: 'Started the new run',
        });
        if (outcome.ok) onStarted(outcome.value);
        return outcome;
      }}
    >
      <p className="muted">
        Starts 1 new run from the beginning, with the labels, retries and other settings of this run. All steps run again,
        including their side effects. This run does not change. This cannot be undone, but you can cancel the new run.
      </p>
      {isText ? (
        <TextArea label="Input" rows={10} spellCheck={false} value={input} onChange={setInput} />
      ) : (
        <p>The input is {journal.input === undefined ? 'no longer stored' : 'binary'} and cannot be edited.</p>
      )}
    </ConfirmDialog>
  );
}
