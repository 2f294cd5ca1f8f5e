/** A rate as a number field and a logarithmic slider, from one per ten seconds to a thousand per second. */
import { useId, useState } from 'react';
import { countText } from '../../components/times/formats.js';
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

const roundRate = (rate: number): number => Number(rate.toPrecision(2));
const isRate = (rate: number): boolean => Number.isFinite(rate) && rate >= MIN_RATE && rate <= MAX_RATE;

export function RateField({ label, rate, onChange }: RateFieldProps) {
  const id = useId();
  const [text, setText] = useState(String(rate));
  const isInvalid = !isRate(Number(text)) || text === '';
  const changeText = (newText: string) => {
    setText(newText);
    if (newText !== '' && isRate(Number(newText))) onChange(Number(newText));
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
          aria-invalid={isInvalid}
          aria-describedby={`${id}-hint`}
          value={text}
          onChange={(event) => changeText(event.target.value)}
        />
        <input
          type="range"
          aria-label={`${label} (slider)`}
          aria-valuetext={rateText(rate)}
          min={-1}
          max={3}
          step={0.05}
          value={Math.log10(rate)}
          onChange={(event) => changeText(String(roundRate(10 ** Number(event.target.value))))}
        />
      </div>
      <span id={`${id}-hint`} className={isInvalid ? 'field-error' : 'field-hint'}>
        {isInvalid
          ? `Enter a number from ${MIN_RATE} to ${countText(MAX_RATE)}.`
          : 'A lower rate puts less load on a recovering system. 0.1 is one start every 10 s.'}
      </span>
    </div>
  );
}
