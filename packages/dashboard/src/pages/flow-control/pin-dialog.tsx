/** Pins the limits of a flow control key: those that runs bring do not count any more. */
import { useId, useState } from 'react';
import type { FlowControlEntry } from '../../../../everstep/src/contract/service.js';
import { path } from '../../api/client.js';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';

interface NumberFieldProps {
  readonly label: string;
  readonly value: string;
  readonly hint: string;
  readonly onChange: (value: string) => void;
}

function NumberField({ label, value, hint, onChange }: NumberFieldProps) {
  const id = useId();
  const hintId = useId();
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {label}
      </label>
      <input
        id={id}
        className="input"
        inputMode="numeric"
        value={value}
        aria-invalid={!isCount(value)}
        aria-describedby={hintId}
        onChange={(event) => onChange(event.target.value.trim())}
      />
      <span id={hintId} className={isCount(value) ? 'field-hint' : 'field-error'}>
        {isCount(value) ? hint : 'A whole number from 1, or nothing'}
      </span>
    </div>
  );
}

const isCount = (text: string): boolean => text === '' || /^[1-9]\d{0,9}$/.test(text);
const textOf = (count: number | undefined): string => (count === undefined ? '' : String(count));

export interface PinDialogProps {
  /** null: for a key that is named in the dialog. */
  readonly entry: FlowControlEntry | null;
  readonly onClose: () => void;
}

export function PinDialog({ entry, onClose }: PinDialogProps) {
  const keyId = useId();
  const [key, setKey] = useState(entry?.flowControlKey ?? '');
  // What is not pinned beside a limit that is stays so, unless somebody fills it in.
  const nothingPinned = !entry?.isPinnedParallelism && !entry?.isPinnedRate;
  const shown = (isPinned: boolean | undefined, max: number | undefined) => (isPinned || nothingPinned ? textOf(max) : '');
  const [parallelism, setParallelism] = useState(shown(entry?.isPinnedParallelism, entry?.parallelismMax));
  const [rate, setRate] = useState(shown(entry?.isPinnedRate, entry?.rateMax));
  const [period, setPeriod] = useState(textOf(entry?.ratePeriod) || '1');
  const change = useChange();
  const valid = key !== '' && [parallelism, rate, period].every(isCount) && (parallelism !== '' || rate !== '');
  return (
    <ConfirmDialog
      title={entry === null ? 'Pin limits for a key' : `Pin the limits of ${entry.flowControlKey}`}
      open
      onClose={onClose}
      confirmText="Pin limits"
      disabled={!valid}
      onConfirm={() =>
        change({
          method: 'POST',
          url: path`/v2/flowControl/${key}/pin`,
          query: { parallelism, rate, period: rate === '' ? '' : period },
          topics: ['flow-control'],
          done: `The limits of ${key} are pinned`,
        })
      }
    >
      <p>They count at once, also for what waits. A pinned limit is not replaced by those of new runs until it is unpinned.</p>
      {entry === null ? (
        <div className="field">
          <label className="field-label" htmlFor={keyId}>
            Flow control key
          </label>
          <input id={keyId} className="input" value={key} onChange={(event) => setKey(event.target.value)} />
        </div>
      ) : null}
      <NumberField
        label="Parallelism"
        value={parallelism}
        hint="How many may be in flight; empty: not pinned here, stays as it is"
        onChange={setParallelism}
      />
      <NumberField
        label="Rate"
        value={rate}
        hint="How many may start in a window; empty: not pinned here, stays as it is"
        onChange={setRate}
      />
      <NumberField label="Window, in seconds" value={period} hint="Goes with the rate" onChange={setPeriod} />
    </ConfirmDialog>
  );
}
