/** What can be done about a run: each button where it applies, and where the user may. */
import { Menu } from '@base-ui/react/menu';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { RunJournal } from '../../../../everstep/src/contract/runs.js';
import { path } from '../../api/client.js';
import { useMay, useQueueId } from '../../api/instances.js';
import type { Outcome } from '../../api/outcome.js';
import { useChange } from '../../api/queries.js';
import { DeedButton } from '../../components/deed-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { quantity } from '../../components/formats.js';
import { Icon } from '../../components/icons.js';
import { CheckDialog } from './check-dialog.js';
import { ForkDialog } from './fork-dialog.js';

type Open = 'cancel' | 'resume' | 'restart' | 'fork' | 'check' | null;

interface NewRun {
  readonly workflowRunId: string;
  readonly workflowCreatedAt: number;
}

export interface RunActionsProps {
  readonly journal: RunJournal;
  /** It was under way when somebody began to look: what can be done about it keeps its place when it ends. */
  readonly watched: boolean;
}

export function RunActions({ journal, watched }: RunActionsProps) {
  const { workflowRunId: runId, workflowCreatedAt: createdAt, workflowState: state, dlqId } = journal;
  const queueId = useQueueId();
  const may = useMay();
  const change = useChange();
  const navigate = useNavigate();
  const [open, setOpen] = useState<Open>(null);
  const close = () => setOpen(null);
  const goTo = (run: NewRun) =>
    void navigate({
      to: '/q/$queueId/runs/$runId',
      params: { queueId, runId: run.workflowRunId },
      search: { createdAt: String(run.workflowCreatedAt) },
    });
  const recover = async (kind: 'resume' | 'restart'): Promise<Outcome<NewRun>> => {
    const outcome = await change<NewRun>({
      url: path`/v2/workflows/dlq/${kind}/${dlqId ?? ''}`,
      method: 'POST',
      topics: ['runs', 'dlq'],
      done: kind === 'resume' ? 'The run was resumed as a new one' : 'The run was restarted as a new one',
    });
    if (outcome.ok) goTo(outcome.value);
    return outcome;
  };
  const recoverable = dlqId !== undefined;
  return (
    <div className="line run-deeds">
      {state === 'RUN_STARTED' || (watched && !recoverable) ? (
        <DeedButton
          look="danger"
          off={may.readOnly ?? (state === 'RUN_STARTED' ? undefined : 'The run has ended')}
          onClick={() => setOpen('cancel')}
        >
          <Icon name="stop" />
          Cancel
        </DeedButton>
      ) : null}
      {recoverable ? (
        <DeedButton look="primary" off={may.readOnly} onClick={() => setOpen('resume')}>
          <Icon name="play" />
          Resume
        </DeedButton>
      ) : null}
      <DeedButton off={may.readOnly} onClick={() => setOpen('fork')}>
        <Icon name="fork" />
        Fork
      </DeedButton>
      <Menu.Root>
        <Menu.Trigger className="button" aria-label="More that can be done">
          <Icon name="more" />
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner sideOffset={4} align="end" className="tooltip-place">
            <Menu.Popup className="popup">
              {recoverable ? (
                <Menu.Item className="popup-item" disabled={!may.write} title={may.readOnly} onClick={() => setOpen('restart')}>
                  <Icon name="refresh" />
                  Restart from the beginning
                </Menu.Item>
              ) : null}
              <Menu.Item
                className="popup-item"
                render={
                  <Link
                    to="/q/$queueId/runs/$runId/compare"
                    params={{ queueId, runId }}
                    search={{ createdAt: String(createdAt) }}
                  />
                }
              >
                <Icon name="equal" />
                Compare with the last good run
              </Menu.Item>
              <Menu.Item className="popup-item" onClick={() => setOpen('check')}>
                <Icon name="check" />
                Check whether the code still fits
              </Menu.Item>
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
      <ConfirmDialog
        title="Cancel this run?"
        open={open === 'cancel'}
        onClose={close}
        confirmText="Cancel the run"
        danger
        onConfirm={() =>
          change({
            url: path`/v2/workflows/runs/${runId}`,
            method: 'DELETE',
            topics: ['runs'],
            done: 'The run was canceled',
          })
        }
      >
        <p>Nothing further of it is done, and it does not go into the dead letter queue. This cannot be undone.</p>
      </ConfirmDialog>
      <ConfirmDialog
        title="Resume this run?"
        open={open === 'resume'}
        onClose={close}
        confirmText="Resume"
        onConfirm={() => recover('resume')}
      >
        <p>
          A new run takes over {quantity(journal.steps.length, 'recorded step')} and goes on where this one failed. The dead
          letter leaves the queue.
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
          A new run begins with the same input and no recorded step: whatever this one did outside is done again. The dead letter
          leaves the queue.
        </p>
      </ConfirmDialog>
      {open === 'fork' ? <ForkDialog journal={journal} onClose={close} onForked={goTo} /> : null}
      {open === 'check' ? <CheckDialog runId={runId} createdAt={createdAt} onClose={close} /> : null}
    </div>
  );
}
