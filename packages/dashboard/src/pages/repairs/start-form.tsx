/** Form that starts a plan, with its rate, canary or undo window. */
import { type FormEvent, useId, useState } from 'react';
import type { RepairEntry, StartRepair } from '../../../../everstep/src/contract/repairs.js';
import { usePermissions } from '../../api/instances.js';
import type { Failure } from '../../api/outcome.js';
import { ActionButton } from '../../components/action-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { SelectField, TextField } from '../../components/fields.js';
import { ReadOnlyNote } from '../../components/read-only-note.js';
import { FailureNotice } from '../../components/states.js';
import { durationText, quantity } from '../../components/times/formats.js';
import { RateField } from './rate-field.js';
import { durationAtRateMs, rateText, startText } from './repair-text.js';
import { type RepairChange, useRepairChange } from './use-repair-change.js';

const DEFAULT_RATE = 10;
// The same defaults as in the API and the command line.
const DEFAULT_CANARY_SIZE = 10;
const DEFAULT_MAX_FAILURE_PERCENT = 20;
const DEFAULT_THEN_CONTINUE = false;
const UNDO_WINDOWS = [
  { ms: 60_000, text: '1 minute' },
  { ms: 600_000, text: '10 minutes' },
  { ms: 3_600_000, text: '1 hour' },
  { ms: 86_400_000, text: '1 day' },
] as const;

export function StartForm({ repair }: { readonly repair: RepairEntry }) {
  const { action, counts, repairId } = repair;
  const { total } = counts;
  const permissions = usePermissions();
  const change = useRepairChange(repairId);
  const id = useId();
  const [rate, setRate] = useState(DEFAULT_RATE);
  const [hasCanary, setHasCanary] = useState(total > DEFAULT_CANARY_SIZE);
  const [canarySize, setCanarySize] = useState(String(Math.min(DEFAULT_CANARY_SIZE, total)));
  const [maxFailurePercent, setMaxFailurePercent] = useState(String(DEFAULT_MAX_FAILURE_PERCENT));
  const [thenContinue, setThenContinue] = useState(DEFAULT_THEN_CONTINUE);
  const [undoMs, setUndoMs] = useState(600_000);
  const [busy, setBusy] = useState(false);
  const [isConfirming, setIsConfirming] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const isDelete = action === 'delete';
  const apply = async (repairChange: RepairChange) => {
    setBusy(true);
    setFailure(null);
    const outcome = await change(repairChange);
    setBusy(false);
    if (!outcome.ok) setFailure(outcome.failure);
  };
  const body: StartRepair = isDelete
    ? { undoMs }
    : {
        ratePerSecond: rate,
        ...(hasCanary
          ? { canary: { count: Number(canarySize), maxFailurePercent: Number(maxFailurePercent), thenContinue } }
          : {}),
      };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isDelete) setIsConfirming(true);
    else void apply({ kind: 'start', body });
  };
  const undoText = UNDO_WINDOWS.find(({ ms }) => ms === undoMs)?.text ?? durationText(undoMs);
  return (
    <form className="card" aria-labelledby={`${id}-title`} onSubmit={submit}>
      <div className="card-head">
        <h2 id={`${id}-title`}>Start</h2>
      </div>
      <div className="card-body stack">
        {isDelete ? (
          <SelectField
            label="Undo window"
            value={undoMs}
            onChange={(value) => setUndoMs(Number(value))}
            hint="Nothing is deleted until the undo window ends."
          >
            {UNDO_WINDOWS.map(({ ms, text }) => (
              <option key={ms} value={ms}>
                {text}
              </option>
            ))}
          </SelectField>
        ) : (
          <>
            <RateField label="Max starts per second" rate={rate} onChange={setRate} />
            <p className="expected-duration" role="status">
              {quantity(total, 'run')} at {rateText(rate)} {total === 1 ? 'takes' : 'take'} about{' '}
              <strong>{durationText(durationAtRateMs(total, rate))}</strong>
              {hasCanary ? ', plus the time until the canary ends' : ''}.
            </p>
            <fieldset className="fieldset stack">
              <legend className="visually-hidden">Canary</legend>
              <label className="check-line">
                <input type="checkbox" checked={hasCanary} onChange={(event) => setHasCanary(event.target.checked)} />
                <span>
                  <strong>Run a canary first</strong>
                  <br />
                  <span className="field-hint">
                    Repairs one dead letter of each workflow and error group, then a second of each, and so on, up to the canary
                    size. If too many of one error group or of the whole canary fail again, the repair stops.
                  </span>
                </span>
              </label>
              {hasCanary ? (
                <>
                  <div className="canary-fields">
                    <NumberField label="Canary size" value={canarySize} onChange={setCanarySize} min={1} max={1000} />
                    <NumberField
                      label="Max failures (%)"
                      value={maxFailurePercent}
                      onChange={setMaxFailurePercent}
                      min={0}
                      max={100}
                    />
                  </div>
                  <label className="check-line">
                    <input type="checkbox" checked={thenContinue} onChange={(event) => setThenContinue(event.target.checked)} />
                    <span>Then continue with the rest automatically</span>
                  </label>
                </>
              ) : null}
            </fieldset>
          </>
        )}
        <div className="plan-start">
          {failure === null ? null : <FailureNotice failure={failure} />}
          <ReadOnlyNote />
          <ActionButton submits variant={isDelete ? 'danger' : 'primary'} disabledReason={permissions.readOnlyReason} busy={busy}>
            {busy
              ? 'Working…'
              : isDelete
                ? `Delete ${quantity(total, 'dead letter')}…`
                : startText(action, total, hasCanary ? { count: Number(canarySize), thenContinue } : null)}
          </ActionButton>
          <ActionButton
            variant="quiet"
            disabledReason={permissions.readOnlyReason}
            busy={busy}
            onClick={() => apply({ kind: 'abort' })}
          >
            Discard plan
          </ActionButton>
        </div>
      </div>
      <ConfirmDialog
        title={`Delete ${quantity(total, 'dead letter')}?`}
        open={isConfirming}
        onClose={() => setIsConfirming(false)}
        confirmText={`Delete ${quantity(total, 'dead letter')}`}
        danger
        onConfirm={() => change({ kind: 'start', body })}
      >
        <p>
          {quantity(total, 'dead letter')} {total === 1 ? 'leaves' : 'leave'} the dead letter queue in {undoText}. Until then, you
          can undo the deletion on this page. After that, it cannot be undone, and resume and restart are no longer possible. The
          runs stay in the log.
        </p>
      </ConfirmDialog>
    </form>
  );
}

interface NumberFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly min: number;
  readonly max: number;
}

function NumberField({ label, value, onChange, min, max }: NumberFieldProps) {
  return (
    <TextField label={label} type="number" inputMode="numeric" required min={min} max={max} value={value} onChange={onChange} />
  );
}
