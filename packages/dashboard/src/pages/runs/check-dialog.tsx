/** Dialog that checks whether the deployed code is compatible with the recorded steps. No step runs and nothing is recorded. */
import type { RunChecks } from '../../../../everstep/src/contract/run-tools.js';
import { useReplayCheck } from '../../api/replay-checks.js';
import { DialogClose, DialogWindow } from '../../components/dialogs.js';
import { FailureNotice, Skeleton } from '../../components/states.js';
import { StatusBadge, type Tone } from '../../components/status-badge.js';

export interface CheckDialogProps {
  readonly runId: string;
  readonly createdAt: number;
  readonly onClose: () => void;
}

type CheckOutcome = RunChecks['checks'][number]['outcome'];

const OUTCOMES: Readonly<Record<CheckOutcome, { readonly tone: Tone; readonly text: string }>> = {
  fits: { tone: 'good', text: 'Compatible' },
  differs: { tone: 'bad', text: 'Incompatible' },
  'cannot-tell': { tone: 'warn', text: 'Unknown' },
};

export function CheckDialog({ runId, createdAt, onClose }: CheckDialogProps) {
  const { data, error, refetch, isFetching } = useReplayCheck(runId, createdAt);
  return (
    <DialogWindow
      title="Replay compatibility"
      open
      onClose={onClose}
      actions={
        <>
          <button type="button" className="button" onClick={() => void refetch()} disabled={isFetching}>
            Check again
          </button>
          <DialogClose>Close</DialogClose>
        </>
      }
    >
      <p className="muted">
        Checks whether the deployed code still requests the recorded steps. No step runs and nothing is recorded.
      </p>
      {error ? <FailureNotice failure={error} /> : null}
      {data === undefined && !error ? <Skeleton lines={2} /> : null}
      {data?.checks.map((check) => (
        <div key={check.workflowRunId} className="stack">
          <p>
            <StatusBadge tone={OUTCOMES[check.outcome].tone}>{OUTCOMES[check.outcome].text}</StatusBadge>
          </p>
          <p>{check.message}</p>
          {check.stepName === null ? null : (
            <p>
              At step {check.stepId}: <span className="mono">{check.stepName}</span>
            </p>
          )}
        </div>
      ))}
    </DialogWindow>
  );
}
