/** A rate: as a number, or by a slider on which every step is felt alike, from one in ten seconds to a thousand a second. */
import { useId, useState } from 'react';
import { rateText } from './repair-words.js';

export interface RateFieldProps {
  readonly label: string;
  /** A second. */
  readonly rate: number;
  /** Called with rates that the service takes. */
  readonly onChange: (rate: number) => void;
}

const LEAST = 0.001;
const MOST = 1000;

const rounded = (rate: number): number => Number(rate.toPrecision(2));
const isRate = (rate: number): boolean => Number.isFinite(rate) && rate >= LEAST && rate <= MOST;

export function RateField({ label, rate, onChange }: RateFieldProps) {
  const id = useId();
  const [text, setText] = useState(String(rate));
  const wrong = !isRate(Number(text)) || text === '';
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
          min={LEAST}
          max={MOST}
          required
          aria-invalid={wrong}
          aria-describedby={`${id}-hint`}
          value={text}
          onChange={(event) => write(event.target.value)}
        />
        <input
          type="range"
          aria-label={`${label}, by slider`}
          aria-valuetext={rateText(rate)}
          min={-1}
          max={3}
          step={0.05}
          value={Math.log10(rate)}
          onChange={(event) => write(String(rounded(10 ** Number(event.target.value))))}
        />
      </div>
      <span id={`${id}-hint`} className={wrong ? 'field-error' : 'field-hint'}>
        {wrong ? `From ${LEAST} to ${MOST}` : 'Slower is kinder to what has just recovered. 0.1 is one in ten seconds.'}
      </span>
    </div>
  );
}
