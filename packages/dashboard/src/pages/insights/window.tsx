/** The time that a page of insights covers. It is stored in the URL. */
import { useId } from 'react';
import type { InsightWindow } from '../../../../everstep/src/contract/insights/insights.js';
import { useFilters } from '../../components/tables/filters.js';

const WINDOWS: Readonly<Record<InsightWindow, string>> = {
  '1h': 'Last hour',
  '6h': 'Last 6 hours',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
};
// The keys of WINDOWS are exactly its declared names.
const NAMES = Object.keys(WINDOWS) as readonly InsightWindow[];
const DEFAULT_WINDOW: InsightWindow = '24h';

export interface WindowChoice {
  readonly window: InsightWindow;
  readonly setWindow: (window: string) => void;
  /** Value of the URL parameter; undefined for the default. */
  readonly parameter: string | undefined;
}

export function useWindow(): WindowChoice {
  const { values, set } = useFilters(['window']);
  const window = NAMES.find((name) => name === values.window) ?? DEFAULT_WINDOW;
  return {
    window,
    parameter: window === DEFAULT_WINDOW ? undefined : window,
    setWindow: (next) => set('window', next === DEFAULT_WINDOW ? '' : next),
  };
}

export function WindowSelect({ window, setWindow }: Pick<WindowChoice, 'window' | 'setWindow'>) {
  const id = useId();
  return (
    <>
      <label className="visually-hidden" htmlFor={id}>
        Time range
      </label>
      <select id={id} className="input input-narrow" value={window} onChange={(event) => setWindow(event.target.value)}>
        {NAMES.map((name) => (
          <option key={name} value={name}>
            {WINDOWS[name]}
          </option>
        ))}
      </select>
    </>
  );
}
