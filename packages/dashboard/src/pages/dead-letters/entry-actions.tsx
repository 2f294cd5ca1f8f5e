/** Resumes, restarts or deletes one dead letter. Before a resume, it can check whether the deployed code is compatible. */
import { useState } from 'react';
import type { DeadLetterEntry } from '../../../../everstep/src/contract/dead-letters.js';
import { path } from '../../api/client.js';
import { usePermissions } from '../../api/instances.js';
import { useChange } from '../../api/queries.js';
import { useReplayCheck } from '../../api/replay-checks.js';
import { ActionButton } from '../../components/action-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { Icon } from '../../components/icons.js';
import { ReadOnlyNote } from '../../components/read-only-note.js';
import { NO_OVERRIDES, OverrideFields, overrideHeaders, overridesIn } from '../../components/run-overrides.js';
import { FailureNotice } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';

type Action = 'resume' | 'restart' | 'delete';

const ACTION_TEXTS: Readonly<Record<Action, { readonly title: string; readonly confirm: string; readonly text: string }>> = {
  resume: {
    title: 'Resume this run?',
    confirm: 'Resume',
    text: 'A new run starts at the step that failed. Results of earlier steps are kept, and those steps do not run again. The dead letter is removed. This cannot be undone, but you can cancel the new run.',
  },
  restart: {
    title: 'Restart this run?',
    confirm: 'Restart',
    text: 'A new run starts at the first step with the same input. Earlier results are not used: all steps run again. The dead letter is removed. This cannot be undone, but you can cancel the new run.',
  },
  delete: {
    title: 'Delete this dead letter?',
    confirm: 'Delete dead letter',
    text: 'The dead letter can no longer be resumed or restarted. This cannot be undone. The run itself stays in the log.',
  },
};

export interface EntryActionsProps {
  readonly entry: DeadLetterEntry;
  /** Called with the id of the new run. */
  readonly onRun: (workflowRunId: string) => void;
  readonly onDeleted: () => void;
}

export function EntryActions({ entry, onRun, onDeleted }: EntryActionsProps) {
  const permissions = usePermissions();
  const change = useChange();
  const [openAction, setOpenAction] = useState<Action | null>(null);
  const [overrideTexts, setOverrideTexts] = useState(NO_OVERRIDES);
  // Keeps the text while the dialog closes.
  const [shownAction, setShownAction] = useState<Action>('resume');
  const openDialog = (action: Action) => {
    setShownAction(action);
    setOpenAction(action);
  };
  const confirmAction = async () => {
    if (shownAction === 'delete') {
      const outcome = await change({
        url: path`/v2/workflows/dlq/${entry.dlqId}`,
        method: 'DELETE',
        topics: ['dlq'],
        successText: 'Deleted the dead letter',
      });
      if (outcome.ok) onDeleted();
      return outcome;
    }
    const outcome = await change<{ readonly workflowRunId: string }>({
      url: path`/v2/workflows/dlq/${shownAction}/${entry.dlqId}`,
      method: 'POST',
      headers: overrideHeaders(overridesIn(overrideTexts)),
      topics: ['dlq', 'runs'],
      successText:
        shownAction === 'resume'
          ? 'Resumed the run. This page shows the new run.'
          : 'Restarted the run. This page shows the new run.',
    });
    if (outcome.ok) onRun(outcome.value.workflowRunId);
    return outcome;
  };
  const { title, confirm, text } = ACTION_TEXTS[shownAction];
  return (
    <>
      <ReadOnlyNote />
      <ActionButton variant="primary" disabledReason={permissions.readOnlyReason} onClick={() => openDialog('resume')}>
        <Icon name="play" />
        Resume
      </ActionButton>
      <ActionButton disabledReason={permissions.readOnlyReason} onClick={() => openDialog('restart')}>
        <Icon name="refresh" />
        Restart
      </ActionButton>
      <ActionButton variant="danger" disabledReason={permissions.readOnlyReason} onClick={() => openDialog('delete')}>
        Delete
      </ActionButton>
      <ConfirmDialog
        title={title}
        open={openAction !== null}
        onClose={() => setOpenAction(null)}
        confirmText={confirm}
        danger={shownAction === 'delete'}
        onConfirm={confirmAction}
      >
        <p>{text}</p>
        <p className="muted">
          Run <span className="mono">{entry.workflowRunId}</span>
        </p>
        {shownAction === 'resume' ? <CompatibilityCheck entry={entry} enabled={openAction === 'resume'} /> : null}
        {shownAction === 'delete' ? null : (
          <OverrideFields purpose="replacing-run" texts={overrideTexts} onChange={setOverrideTexts} />
        )}
      </ConfirmDialog>
    </>
  );
}

/** Checks at the endpoint whether its code is compatible, without running any step. */
function CompatibilityCheck({ entry, enabled }: { readonly entry: DeadLetterEntry; readonly enabled: boolean }) {
  const [isRequested, setIsRequested] = useState(false);
  const { data, error, isFetching, refetch } = useReplayCheck(
    entry.workflowRunId,
    entry.workflowCreatedAt,
    enabled && isRequested,
  );
  const [check] = data?.checks ?? [];
  return (
    <div className="stack">
      <div className="line">
        <button
          type="button"
          className="button button-small"
          disabled={isFetching}
          onClick={() => (isRequested ? void refetch() : setIsRequested(true))}
        >
          {isFetching ? 'Checking…' : 'Check replay compatibility'}
        </button>
        {check === undefined ? null : (
          <StatusBadge tone={check.outcome === 'fits' ? 'good' : check.outcome === 'differs' ? 'bad' : 'warn'}>
            {check.outcome === 'fits' ? 'Compatible' : check.outcome === 'differs' ? 'Incompatible' : 'Unknown'}
          </StatusBadge>
        )}
      </div>
      {check === undefined ? null : <p role="status">{check.message}</p>}
      {error === null ? null : <FailureNotice failure={error} />}
    </div>
  );
}
