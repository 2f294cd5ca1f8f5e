/** Pause, continue, abort, and another rate, as far as the state allows. */
import { type FormEvent, useState } from 'react';
import type { RepairEntry } from '../../../../everstep/src/contract/repairs.js';
import { useMay } from '../../api/instances.js';
import type { Failure } from '../../api/outcome.js';
import { DeedButton } from '../../components/deed-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { quantity } from '../../components/formats.js';
import { Icon } from '../../components/icons.js';
import { ReadOnlyNote } from '../../components/read-only-note.js';
import { FailureNotice } from '../../components/states.js';
import { TakingTurns } from '../../components/taking-turns.js';
import { toastDone } from '../../components/toasts.js';
import { RateField } from './rate-field.js';
import { DEEDS, isOver, rateText } from './repair-words.js';
import { type RepairChange, useRepairChange } from './use-repair-change.js';

export function Controls({ repair }: { readonly repair: RepairEntry }) {
  const { state, action, canary, counts, ratePerSecond, repairId } = repair;
  const may = useMay();
  const change = useRepairChange(repairId);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [aborting, setAborting] = useState(false);
  if (isOver(repair)) return null;
  const does = async (...asked: readonly RepairChange[]): Promise<boolean> => {
    setBusy(true);
    setFailure(null);
    for (const each of asked) {
      const outcome = await change(each);
      if (outcome.ok) continue;
      setFailure(outcome.failure);
      setBusy(false);
      return false;
    }
    setBusy(false);
    return true;
  };
  const undo = state === 'undo-window';
  const waits = state === 'paused' || state === 'canary-passed';
  const theRest = (count: number): string => `${DEEDS[action].verb} the rest (${count})`;
  const labels = ['Pause', 'Continue', ...(canary === null ? [] : [theRest(counts.total)])];
  const setRate = async (rate: number) => {
    // The service takes another rate with `continue`, which is for what waits.
    const going: RepairChange = { kind: 'continue', body: { ratePerSecond: rate } };
    const done = await (waits ? does(going) : does({ kind: 'pause' }, going));
    if (done) toastDone(`From now on ${rateText(rate)}`);
  };
  return (
    <div className="stack">
      {failure === null ? null : <FailureNotice failure={failure} />}
      <div className="line">
        {waits ? (
          <DeedButton look="primary" off={may.readOnly} busy={busy} onClick={() => does({ kind: 'continue', body: {} })}>
            <Icon name="play" />
            <TakingTurns now={state === 'canary-passed' ? theRest(counts.pending) : 'Continue'} among={labels} />
          </DeedButton>
        ) : (
          <DeedButton off={may.readOnly} busy={busy} onClick={() => does({ kind: 'pause' })}>
            <Icon name="pause" />
            <TakingTurns now="Pause" among={labels} />
          </DeedButton>
        )}
        {/* In one place, since both stop it: whoever reaches for one of them as the time runs out meets the other. */}
        {undo ? (
          <DeedButton look="primary" off={may.readOnly} busy={busy} onClick={() => does({ kind: 'abort' })}>
            <Icon name="left" />
            Undo: delete nothing
          </DeedButton>
        ) : (
          <DeedButton look="danger" off={may.readOnly} busy={busy} onClick={() => setAborting(true)}>
            <Icon name="stop" />
            Abort
          </DeedButton>
        )}
        <ReadOnlyNote />
      </div>
      {action === 'delete' || ratePerSecond === null ? null : (
        <RateChange key={ratePerSecond} rate={ratePerSecond} waits={waits} off={may.readOnly} busy={busy} onSet={setRate} />
      )}
      <ConfirmDialog
        title={action === 'delete' ? 'Stop deleting?' : 'Abort this repair?'}
        open={aborting}
        onClose={() => setAborting(false)}
        confirmText="Abort"
        danger
        onConfirm={() => change({ kind: 'abort' })}
      >
        <p>
          {quantity(counts.pending, 'dead letter')} {counts.pending === 1 ? 'was' : 'were'} not begun and{' '}
          {counts.pending === 1 ? 'stays' : 'stay'} in the queue.
          {counts.started === 0
            ? ''
            : ` ${quantity(counts.started, 'run')} under way ${counts.started === 1 ? 'goes' : 'go'} on.`}{' '}
          An aborted repair cannot be continued; a new one can be planned for what is left.
        </p>
      </ConfirmDialog>
    </div>
  );
}

interface RateChangeProps {
  readonly rate: number;
  readonly waits: boolean;
  readonly off: string | undefined;
  readonly busy: boolean;
  readonly onSet: (rate: number) => Promise<void>;
}

function RateChange({ rate, waits, off, busy, onSet }: RateChangeProps) {
  const [next, setNext] = useState(rate);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void onSet(next);
  };
  return (
    <details>
      <summary>Change the rate (now {rateText(rate)})</summary>
      <form className="stack" onSubmit={submit}>
        <RateField label="Begun per second, at most" rate={next} onChange={setNext} />
        <div>
          <DeedButton submits off={off ?? (next === rate ? 'This is its rate already' : undefined)} busy={busy}>
            {waits ? `Continue at ${rateText(next)}` : `Go on at ${rateText(next)}`}
          </DeedButton>
        </div>
      </form>
    </details>
  );
}
