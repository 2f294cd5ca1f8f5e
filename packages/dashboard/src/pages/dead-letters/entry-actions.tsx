/** Resume, restart or delete of one dead letter; before a resume the live code can be asked whether it still fits. */
import { useState } from 'react';
import type { DeadLetterEntry } from '../../../../everstep/src/contract/dead-letters.js';
import type { RunChecks } from '../../../../everstep/src/contract/run-tools.js';
import { path } from '../../api/client.js';
import { useMay } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { DeedButton } from '../../components/deed-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { Icon } from '../../components/icons.js';
import { ReadOnlyNote } from '../../components/read-only-note.js';
import { NO_OVERRIDES, OverrideFields, overrideHeaders, overridesIn } from '../../components/run-overrides.js';
import { FailureNotice } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';

type Act = 'resume' | 'restart' | 'delete';

const WORDS: Readonly<Record<Act, { readonly title: string; readonly confirm: string; readonly text: string }>> = {
  resume: {
    title: 'Resume this run?',
    confirm: 'Resume',
    text: 'A new run begins at the step that failed. The results before it are kept, and those steps do not run again. The dead letter leaves the queue.',
  },
  restart: {
    title: 'Restart this run?',
    confirm: 'Restart',
    text: 'A new run begins from the first step, with the same input. The results so far are not used: what those steps did is done again. The dead letter leaves the queue.',
  },
  delete: {
    title: 'Delete this dead letter?',
    confirm: 'Delete 1 dead letter',
    text: 'It leaves the queue and can be neither resumed nor restarted any more. This cannot be undone. The run itself stays in the log.',
  },
};

export interface EntryActionsProps {
  readonly entry: DeadLetterEntry;
  /** Called with the id of the new run. */
  readonly onRun: (workflowRunId: string) => void;
  readonly onDeleted: () => void;
}

export function EntryActions({ entry, onRun, onDeleted }: EntryActionsProps) {
  const may = useMay();
  const change = useChange();
  const [open, setOpen] = useState<Act | null>(null);
  const [texts, setTexts] = useState(NO_OVERRIDES);
  // The words stay while the window closes.
  const [last, setLast] = useState<Act>('resume');
  const begin = (act: Act) => {
    setLast(act);
    setOpen(act);
  };
  const does = async () => {
    if (last === 'delete') {
      const outcome = await change({
        url: path`/v2/workflows/dlq/${entry.dlqId}`,
        method: 'DELETE',
        topics: ['dlq'],
        done: 'Deleted the dead letter',
      });
      if (outcome.ok) onDeleted();
      return outcome;
    }
    const outcome = await change<{ readonly workflowRunId: string }>({
      url: path`/v2/workflows/dlq/${last}/${entry.dlqId}`,
      method: 'POST',
      headers: overrideHeaders(overridesIn(texts)),
      topics: ['dlq', 'runs'],
      done: last === 'resume' ? 'Resumed: this is the new run' : 'Restarted: this is the new run',
    });
    if (outcome.ok) onRun(outcome.value.workflowRunId);
    return outcome;
  };
  const { title, confirm, text } = WORDS[last];
  return (
    <>
      <ReadOnlyNote />
      <DeedButton look="primary" off={may.readOnly} onClick={() => begin('resume')}>
        <Icon name="play" />
        Resume
      </DeedButton>
      <DeedButton off={may.readOnly} onClick={() => begin('restart')}>
        <Icon name="refresh" />
        Restart
      </DeedButton>
      <DeedButton look="danger" off={may.readOnly} onClick={() => begin('delete')}>
        Delete
      </DeedButton>
      <ConfirmDialog
        title={title}
        open={open !== null}
        onClose={() => setOpen(null)}
        confirmText={confirm}
        danger={last === 'delete'}
        onConfirm={does}
      >
        <p>{text}</p>
        <p className="muted">
          Run <span className="mono">{entry.workflowRunId}</span>
        </p>
        {last === 'resume' ? <CheckOne entry={entry} enabled={open === 'resume'} /> : null}
        {last === 'delete' ? null : <OverrideFields texts={texts} onChange={setTexts} />}
      </ConfirmDialog>
    </>
  );
}

/** Asks the endpoint without running any step. */
function CheckOne({ entry, enabled }: { readonly entry: DeadLetterEntry; readonly enabled: boolean }) {
  const [asked, setAsked] = useState(false);
  const { data, error, isFetching, refetch } = useApi<RunChecks>({
    topic: 'dlq',
    name: 'check',
    url: path`/v2/workflows/runs/${entry.workflowRunId}/check`,
    query: { createdAt: entry.workflowCreatedAt },
    enabled: enabled && asked,
  });
  const [check] = data?.checks ?? [];
  return (
    <div className="stack">
      <div className="line">
        <button
          type="button"
          className="button button-small"
          disabled={isFetching}
          onClick={() => (asked ? void refetch() : setAsked(true))}
        >
          {isFetching ? 'Asking the endpoint …' : 'Check whether the present code still fits'}
        </button>
        {check === undefined ? null : (
          <StatusBadge tone={check.outcome === 'fits' ? 'good' : check.outcome === 'differs' ? 'bad' : 'warn'}>
            {check.outcome === 'fits' ? 'Fits' : check.outcome === 'differs' ? 'Would not replay' : 'Cannot tell'}
          </StatusBadge>
        )}
      </div>
      {check === undefined ? null : <p role="status">{check.message}</p>}
      {error === null ? null : <FailureNotice failure={error} />}
    </div>
  );
}
