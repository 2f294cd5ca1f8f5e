/** Actions on a run, as far as its state and the user's role allow. */
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { RunJournal } from '../../../../everstep/src/contract/runs.js';
import { path } from '../../api/client.js';
import { useInstanceId, usePermissions } from '../../api/instances.js';
import type { Outcome } from '../../api/outcome.js';
import { useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { Icon } from '../../components/icons.js';
import { loadAfterPage } from '../../components/loading/load-after-page.js';
import { MenuButton } from '../../components/menus/menu-button.js';
import { quantity } from '../../components/times/formats.js';
import { stringifySearch } from '../../search-parameters.js';
import { CheckDialog } from './check-dialog.js';
import { ForkDialog } from './fork-dialog.js';

const RunAgainDialog = loadAfterPage(() => import('../trigger/run-again-dialog.js'));

type OpenDialog = 'again' | 'cancel' | 'resume' | 'restart' | 'fork' | 'check' | null;

interface NewRun {
  readonly workflowRunId: string;
  readonly workflowCreatedAt: number;
}

export interface RunActionsProps {
  readonly journal: RunJournal;
  /** Whether the run was in progress when the page was opened. If so, the buttons keep their position when it ends. */
  readonly wasActive: boolean;
}

export function RunActions({ journal, wasActive }: RunActionsProps) {
  const { workflowRunId: runId, workflowCreatedAt: createdAt, workflowState: state, dlqId } = journal;
  const instanceId = useInstanceId();
  const permissions = usePermissions();
  const change = useChange();
  const navigate = useNavigate();
  const [open, setOpen] = useState<OpenDialog>(null);
  const close = () => setOpen(null);
  const goTo = (run: NewRun) =>
    void navigate({
      to: '/q/$instanceId/runs/$runId',
      params: { instanceId, runId: run.workflowRunId },
      search: { createdAt: String(run.workflowCreatedAt) },
    });
  const recover = async (kind: 'resume' | 'restart'): Promise<Outcome<NewRun>> => {
    const outcome = await change<NewRun>({
      url: path`/v2/workflows/dlq/${kind}/${dlqId ?? ''}`,
      method: 'POST',
      topics: ['runs', 'dlq'],
      successText:
        kind === 'resume' ? 'Resumed the run. This page shows the new run.' : 'Restarted the run. This page shows the new run.',
    });
    if (outcome.ok) goTo(outcome.value);
    return outcome;
  };
  const cancel = () =>
    change({
      // The id alone could also mean a newer run.
      url: `${path`/v2/workflows/runs/${runId}`}?workflowCreatedAt=${createdAt}`,
      method: 'DELETE',
      topics: ['runs'],
      successText: 'Canceled the run',
    });
  const isRecoverable = dlqId !== undefined;
  return (
    <div className="line run-actions">
      {state === 'RUN_STARTED' || (wasActive && !isRecoverable) ? (
        <ActionButton
          variant="danger"
          disabledReason={permissions.readOnlyReason ?? (state === 'RUN_STARTED' ? undefined : 'The run has ended')}
          onClick={() => setOpen('cancel')}
        >
          <Icon name="stop" />
          Cancel
        </ActionButton>
      ) : null}
      {isRecoverable ? (
        <ActionButton variant="primary" disabledReason={permissions.readOnlyReason} onClick={() => setOpen('resume')}>
          <Icon name="play" />
          Resume
        </ActionButton>
      ) : null}
      <ActionButton disabledReason={permissions.readOnlyReason} onClick={() => setOpen('again')}>
        <Icon name="refresh" />
        Run again
      </ActionButton>
      <ActionButton disabledReason={permissions.readOnlyReason} onClick={() => setOpen('fork')}>
        <Icon name="fork" />
        Fork
      </ActionButton>
      <MenuButton
        className="button"
        label="More actions"
        sections={[
          {
            entries: [
              ...(isRecoverable
                ? [
                    {
                      text: 'Restart from the beginning',
                      icon: 'refresh' as const,
                      disabledReason: permissions.readOnlyReason,
                      onSelect: () => setOpen('restart'),
                    },
                  ]
                : []),
              {
                text: 'Compare with last successful run',
                icon: 'equal',
                href: `${path`/q/${instanceId}/runs/${runId}/compare`}${stringifySearch({ createdAt })}`,
              },
              {
                text: 'Check replay compatibility',
                icon: 'check',
                disabledReason: permissions.readOnlyReason,
                onSelect: () => setOpen('check'),
              },
            ],
          },
        ]}
      >
        <Icon name="more" />
      </MenuButton>
      <ConfirmDialog
        title="Cancel this run?"
        open={open === 'cancel'}
        onClose={close}
        confirmText="Cancel run"
        closeText="Keep running"
        danger
        onConfirm={cancel}
      >
        <p>Cancels this run. No more steps start, and the run does not go to the dead letter queue. This cannot be undone.</p>
      </ConfirmDialog>
      <ConfirmDialog
        title="Resume this run?"
        open={open === 'resume'}
        onClose={close}
        confirmText="Resume"
        onConfirm={() => recover('resume')}
      >
        <p>
          Starts 1 new run that keeps {quantity(journal.steps.length, 'recorded step')} and continues where this run failed. The
          dead letter is removed from the queue. This cannot be undone, but you can cancel the new run.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        title="Restart this run?"
        open={open === 'restart'}
        onClose={close}
        confirmText="Restart"
        onConfirm={() => recover('restart')}
      >
        <p>
          Starts 1 new run with the same input and no recorded steps. All steps run again, including their side effects. The dead
          letter is removed from the queue. This cannot be undone, but you can cancel the new run.
        </p>
      </ConfirmDialog>
      {open === 'again' ? <RunAgainDialog journal={journal} onClose={close} onStarted={goTo} /> : null}
      {open === 'fork' ? <ForkDialog journal={journal} onClose={close} onForked={goTo} /> : null}
      {open === 'check' ? <CheckDialog runId={runId} createdAt={createdAt} onClose={close} /> : null}
    </div>
  );
}
