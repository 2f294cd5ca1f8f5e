/** A rate as a number field and a logarithmic slider, from one per ten seconds to a thousand per second. */
import { useId, useState } from 'react';
import { rateText } from './repair-text.js';

export interface RateFieldProps {
  readonly label: string;
  /** Starts per second. */
  readonly rate: number;
  /** Called with valid rates only. */
  readonly onChange: (rate: number) => void;
}

const MIN_RATE = 0.001;
const MAX_RATE = 1000;

const rounded = (rate: number): number => Number(rate.toPrecision(2));
const isRate = (rate: number): boolean => Number.isFinite(rate) && rate >= MIN_RATE && rate <= MAX_RATE;

export function RateField({ label, rate, onChange }: RateFieldProps) {
  const id = useId();
  const [text, setText] = useState(String(rate));
  const invalid = !isRate(Number(text)) || text === '';
  const write = (next: string) => {
    setText(next);
    if (next !== '' && isRate(Number(next))) onChange(Number(next));
  };
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {label}
      </label>
      <div className="rate">
        <input
          id={id}
          className="input"
          type="number"
          inputMode="decimal"
          step="any"
          min={MIN_RATE}
          max={MAX_RATE}
          required
          aria-invalid={invalid}
          aria-describedby={`${id}-hint`}
          value={text}
          onChange={(event) => write(event.target.value)}
        />
        <input
          type="range"
          aria-label={`${label} (slider)`}
          aria-valuetext={rateText(rate)}
          min={-1}
          max={3}
          step={0.05}
          value={Math.log10(rate)}
          onChange={(event) => write(String(rounded(10 ** Number(event.target.value))))}
        />
      </div>
      <span id={`${id}-hint`} className={invalid ? 'field-error' : 'field-hint'}>
        {invalid
          ? `Enter a number from ${MIN_RATE} to ${MAX_RATE}`
          : 'A lower rate puts less load on a recovering system. 0.1 is one start every 10 s.'}
      </span>
    </div>
  );
}
