/** Controls of a running repair: pause, continue, abort or undo, and change the rate. */
import { type FormEvent, useState } from 'react';
import type { RepairEntry } from '../../../../everstep/src/contract/repairs.js';
import { usePermissions } from '../../api/instances.js';
import type { Failure } from '../../api/outcome.js';
import { ActionButton } from '../../components/action-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { Icon } from '../../components/icons.js';
import { ReadOnlyNote } from '../../components/read-only-note.js';
import { StableWidthLabel } from '../../components/stable-width-label.js';
import { FailureNotice } from '../../components/states.js';
import { quantity } from '../../components/times/formats.js';
import { toastSuccess } from '../../components/toasts.js';
import { RateField } from './rate-field.js';
import { isOver, rateText } from './repair-text.js';
import { type RepairChange, useRepairChange } from './use-repair-change.js';

const BUTTON_TEXTS = ['Pause', 'Continue'];

export function Controls({ repair }: { readonly repair: RepairEntry }) {
  const { state, action, counts, ratePerSecond, repairId } = repair;
  const permissions = usePermissions();
  const change = useRepairChange(repairId);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isAborting, setIsAborting] = useState(false);
  if (isOver(repair)) return null;
  const apply = async (...changes: readonly RepairChange[]): Promise<boolean> => {
    setBusy(true);
    setFailure(null);
    for (const repairChange of changes) {
      const outcome = await change(repairChange);
      if (outcome.ok) continue;
      setFailure(outcome.failure);
      setBusy(false);
      return false;
    }
    setBusy(false);
    return true;
  };
  const canUndo = state === 'undo-window';
  const isWaiting = state === 'paused' || state === 'canary-passed';
  const setRate = async (rate: number) => {
    // The server changes the rate only with `continue`, which requires a paused repair.
    const continueAtRate: RepairChange = { kind: 'continue', body: { ratePerSecond: rate } };
    const isChanged = await (isWaiting ? apply(continueAtRate) : apply({ kind: 'pause' }, continueAtRate));
    if (isChanged) toastSuccess(`Changed the rate to ${rateText(rate)}`);
  };
  return (
    <div className="stack">
      {failure === null ? null : <FailureNotice failure={failure} />}
      <div className="line">
        {isWaiting ? (
          <ActionButton
            variant="primary"
            disabledReason={permissions.readOnlyReason}
            busy={busy}
            onClick={() => apply({ kind: 'continue', body: {} })}
          >
            <Icon name="play" />
            <StableWidthLabel text="Continue" alternatives={BUTTON_TEXTS} />
          </ActionButton>
        ) : (
          <ActionButton disabledReason={permissions.readOnlyReason} busy={busy} onClick={() => apply({ kind: 'pause' })}>
            <Icon name="pause" />
            <StableWidthLabel text="Pause" alternatives={BUTTON_TEXTS} />
          </ActionButton>
        )}
        {/* Undo and Abort share a position: a click at the moment when the undo window ends still stops the repair. */}
        {canUndo ? (
          <ActionButton
            variant="primary"
            disabledReason={permissions.readOnlyReason}
            busy={busy}
            onClick={() => apply({ kind: 'abort' })}
          >
            <Icon name="left" />
            Undo deletion
          </ActionButton>
        ) : (
          <ActionButton
            variant="danger"
            disabledReason={permissions.readOnlyReason}
            busy={busy}
            onClick={() => setIsAborting(true)}
          >
            <Icon name="stop" />
            Abort
          </ActionButton>
        )}
        <ReadOnlyNote />
      </div>
      {action === 'delete' || ratePerSecond === null ? null : (
        <RateChange
          key={ratePerSecond}
          rate={ratePerSecond}
          isWaiting={isWaiting}
          disabledReason={permissions.readOnlyReason}
          busy={busy}
          onSet={setRate}
        />
      )}
      <ConfirmDialog
        title={action === 'delete' ? 'Abort this deletion?' : 'Abort this repair?'}
        open={isAborting}
        onClose={() => setIsAborting(false)}
        confirmText={action === 'delete' ? 'Abort deletion' : 'Abort repair'}
        danger
        onConfirm={() => change({ kind: 'abort' })}
      >
        <p>
          {quantity(counts.pending, 'pending dead letter')} {counts.pending === 1 ? 'stays' : 'stay'} in the dead letter queue.
          {counts.started === 0
            ? ''
            : ` ${quantity(counts.started, 'run')} in progress ${counts.started === 1 ? 'continues' : 'continue'}.`}{' '}
          This cannot be undone: an aborted repair cannot be continued. You can plan a new repair for the rest.
        </p>
      </ConfirmDialog>
    </div>
  );
}

interface RateChangeProps {
  readonly rate: number;
  readonly isWaiting: boolean;
  readonly disabledReason: string | undefined;
  readonly busy: boolean;
  readonly onSet: (rate: number) => Promise<void>;
}

function RateChange({ rate, isWaiting, disabledReason, busy, onSet }: RateChangeProps) {
  const [newRate, setNewRate] = useState(rate);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void onSet(newRate);
  };
  return (
    <details>
      <summary>Change rate (currently {rateText(rate)})</summary>
      <form className="stack" onSubmit={submit}>
        <RateField label="Max starts per second" rate={newRate} onChange={setNewRate} />
        <div>
          <ActionButton
            submits
            disabledReason={disabledReason ?? (newRate === rate ? 'The rate has not changed' : undefined)}
            busy={busy}
          >
            {isWaiting ? `Continue at ${rateText(newRate)}` : `Set rate to ${rateText(newRate)}`}
          </ActionButton>
        </div>
      </form>
    </details>
  );
}
