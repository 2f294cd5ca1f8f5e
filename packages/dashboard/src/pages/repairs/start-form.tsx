/** How the plan is to be carried out: how fast, with how many first, and the start itself. */
import { type FormEvent, useId, useState } from 'react';
import type { RepairEntry, StartRepair } from '../../../../everstep/src/contract/repairs.js';
import { useMay } from '../../api/instances.js';
import type { Failure } from '../../api/outcome.js';
import { DeedButton } from '../../components/deed-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { durationText, quantity } from '../../components/formats.js';
import { ReadOnlyNote } from '../../components/read-only-note.js';
import { FailureNotice } from '../../components/states.js';
import { RateField } from './rate-field.js';
import { DEEDS, durationAtRateMs, rateText } from './repair-words.js';
import { type RepairChange, useRepairChange } from './use-repair-change.js';

const DEFAULT_RATE = 10;
const DEFAULT_CANARY = 10;
const DEFAULT_PERCENT = 20;
const UNDO_WINDOWS = [
  { ms: 60_000, text: '1 minute' },
  { ms: 600_000, text: '10 minutes' },
  { ms: 3_600_000, text: '1 hour' },
  { ms: 86_400_000, text: '1 day' },
] as const;

export function StartForm({ repair }: { readonly repair: RepairEntry }) {
  const { action, counts, repairId } = repair;
  const { total } = counts;
  const may = useMay();
  const change = useRepairChange(repairId);
  const id = useId();
  const [rate, setRate] = useState(DEFAULT_RATE);
  const [canary, setCanary] = useState(total > DEFAULT_CANARY);
  const [count, setCount] = useState(String(Math.min(DEFAULT_CANARY, total)));
  const [percent, setPercent] = useState(String(DEFAULT_PERCENT));
  const [thenContinue, setThenContinue] = useState(true);
  const [undoMs, setUndoMs] = useState(600_000);
  const [busy, setBusy] = useState(false);
  const [confirming, setConfirming] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const isDelete = action === 'delete';
  const does = async (asked: RepairChange) => {
    setBusy(true);
    setFailure(null);
    const outcome = await change(asked);
    setBusy(false);
    if (!outcome.ok) setFailure(outcome.failure);
  };
  const body: StartRepair = isDelete
    ? { undoMs }
    : {
        ratePerSecond: rate,
        ...(canary ? { canary: { count: Number(count), maxFailurePercent: Number(percent), thenContinue } } : {}),
      };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isDelete) setConfirming(true);
    else void does({ kind: 'start', body });
  };
  const { verb } = DEEDS[action];
  const undoText = UNDO_WINDOWS.find(({ ms }) => ms === undoMs)?.text ?? durationText(undoMs);
  return (
    <form className="card" aria-labelledby={`${id}-title`} onSubmit={submit}>
      <div className="card-head">
        <h2 id={`${id}-title`}>Start</h2>
      </div>
      <div className="card-body stack">
        {isDelete ? (
          <div className="field">
            <label className="field-label" htmlFor={`${id}-undo`}>
              Can be undone for
            </label>
            <select
              id={`${id}-undo`}
              className="input"
              value={undoMs}
              onChange={(event) => setUndoMs(Number(event.target.value))}
            >
              {UNDO_WINDOWS.map(({ ms, text }) => (
                <option key={ms} value={ms}>
                  {text}
                </option>
              ))}
            </select>
            <span className="field-hint">Nothing is deleted before it is over.</span>
          </div>
        ) : (
          <>
            <RateField label="Begun per second, at most" rate={rate} onChange={setRate} />
            <p className="expected" role="status">
              {quantity(total, 'run')} at {rateText(rate)} {total === 1 ? 'takes' : 'take'} about{' '}
              <strong>{durationText(durationAtRateMs(total, rate))}</strong>
              {canary ? ', and as long as the first ones need to end' : ''}.
            </p>
            <fieldset className="fieldset stack">
              <legend className="visually-hidden">Try a few first</legend>
              <label className="check-line">
                <input type="checkbox" checked={canary} onChange={(event) => setCanary(event.target.checked)} />
                <span>
                  <strong>Try a few first</strong>
                  <br />
                  <span className="field-hint">They are spread over the workflows. Too many failures stop everything.</span>
                </span>
              </label>
              {canary ? (
                <>
                  <div className="canary-fields">
                    <NumberField id={`${id}-count`} label="How many first" value={count} onChange={setCount} min={1} max={1000} />
                    <NumberField
                      id={`${id}-percent`}
                      label="Stop above, % failed"
                      value={percent}
                      onChange={setPercent}
                      min={0}
                      max={100}
                    />
                  </div>
                  <label className="check-line">
                    <input type="checkbox" checked={thenContinue} onChange={(event) => setThenContinue(event.target.checked)} />
                    <span>Then go on with the rest by itself</span>
                  </label>
                </>
              ) : null}
            </fieldset>
          </>
        )}
        {failure === null ? null : <FailureNotice failure={failure} />}
        <ReadOnlyNote />
        <div className="line">
          <DeedButton submits look={isDelete ? 'danger' : 'primary'} off={may.readOnly} busy={busy}>
            {busy
              ? 'One moment …'
              : isDelete
                ? `Delete ${quantity(total, 'dead letter')} …`
                : canary && Number(count) < total
                  ? `${verb} the first ${count}`
                  : `${verb} ${quantity(total, 'dead letter')}`}
          </DeedButton>
          <DeedButton look="quiet" off={may.readOnly} busy={busy} onClick={() => does({ kind: 'abort' })}>
            Put the plan away
          </DeedButton>
        </div>
      </div>
      <ConfirmDialog
        title={`Delete ${quantity(total, 'dead letter')}?`}
        open={confirming}
        onClose={() => setConfirming(false)}
        confirmText={`Delete ${quantity(total, 'dead letter')}`}
        danger
        onConfirm={() => change({ kind: 'start', body })}
      >
        <p>
          {total === 1 ? 'It leaves' : 'They leave'} the queue in {undoText}; until then it can be undone on this page. Afterwards
          nothing can be resumed or restarted any more. The runs stay in the log.
        </p>
      </ConfirmDialog>
    </form>
  );
}

interface NumberFieldProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly min: number;
  readonly max: number;
}

function NumberField({ id, label, value, onChange, min, max }: NumberFieldProps) {
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {label}
      </label>
      <input
        id={id}
        className="input"
        type="number"
        inputMode="numeric"
        required
        min={min}
        max={max}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}
