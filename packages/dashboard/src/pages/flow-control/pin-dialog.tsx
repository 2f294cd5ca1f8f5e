/** Dialog that pins the limits of a flow control key, so that the limits of new runs no longer replace them. */
import { useState } from 'react';
import type { FlowControlEntry } from '../../../../everstep/src/contract/service.js';
import { path } from '../../api/client.js';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextField } from '../../components/fields.js';

interface NumberFieldProps {
  readonly label: string;
  readonly value: string;
  readonly hint: string;
  readonly onChange: (value: string) => void;
}

function NumberField({ label, value, hint, onChange }: NumberFieldProps) {
  return (
    <TextField
      label={label}
      hint={hint}
      problem={isCountOrEmpty(value) ? null : 'Enter a whole number of at least 1, or leave empty.'}
      inputMode="numeric"
      value={value}
      onChange={(text) => onChange(text.trim())}
    />
  );
}

const isCountOrEmpty = (text: string): boolean => text === '' || /^[1-9]\d{0,9}$/.test(text);
const textOf = (count: number | undefined): string => (count === undefined ? '' : String(count));

export interface PinDialogProps {
  /** The key; null if the user enters it in the dialog. */
  readonly entry: FlowControlEntry | null;
  readonly onClose: () => void;
}

export function PinDialog({ entry, onClose }: PinDialogProps) {
  const [key, setKey] = useState(entry?.flowControlKey ?? '');
  // If only one limit is pinned, the other one stays unpinned unless the user fills it in.
  const isUnpinned = !entry?.isPinnedParallelism && !entry?.isPinnedRate;
  const initialText = (isPinned: boolean | undefined, max: number | undefined) => (isPinned || isUnpinned ? textOf(max) : '');
  const [parallelism, setParallelism] = useState(initialText(entry?.isPinnedParallelism, entry?.parallelismMax));
  const [rate, setRate] = useState(initialText(entry?.isPinnedRate, entry?.rateMax));
  const [period, setPeriod] = useState(textOf(entry?.ratePeriod) || '1');
  const change = useChange();
  const isValid = key !== '' && [parallelism, rate, period].every(isCountOrEmpty) && (parallelism !== '' || rate !== '');
  return (
    <ConfirmDialog
      title={entry === null ? 'Pin limits' : `Pin limits of ${entry.flowControlKey}`}
      open
      onClose={onClose}
      confirmText="Pin limits"
      disabled={!isValid}
      onConfirm={() =>
        change({
          method: 'POST',
          url: path`/v2/flowControl/${key}/pin`,
          query: { parallelism, rate, period: rate === '' ? '' : period },
          topics: ['flow-control'],
          successText: `Pinned the limits of ${key}`,
        })
      }
    >
      <p>
        The limits apply immediately, including to waiting deliveries. New runs do not change a pinned limit until you unpin it.
      </p>
      {entry === null ? <TextField label="Flow control key" value={key} onChange={setKey} /> : null}
      <NumberField
        label="Parallelism"
        value={parallelism}
        hint="Max deliveries in flight. Leave empty to keep the current setting."
        onChange={setParallelism}
      />
      <NumberField
        label="Max starts per period"
        value={rate}
        hint="Leave empty to keep the current setting."
        onChange={setRate}
      />
      <NumberField
        label="Period (seconds)"
        value={period}
        hint="Starts are counted in periods of this length."
        onChange={setPeriod}
      />
    </ConfirmDialog>
  );
}
