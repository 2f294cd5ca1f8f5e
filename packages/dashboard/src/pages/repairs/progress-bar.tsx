/** Progress of a repair: a bar with a segment per state, and the counts per state. */
import type { RepairEntry } from '../../../../everstep/src/contract/repairs.js';
import { countText } from '../../components/times/formats.js';
import { endedCount, ITEM_ORDER, ITEM_STATES, type RepairAction } from './repair-text.js';

export interface ProgressBarProps {
  readonly counts: RepairEntry['counts'];
  readonly label: string;
  readonly thin?: boolean;
}

export function ProgressBar({ counts, label, thin = false }: ProgressBarProps) {
  const { total } = counts;
  const ended = endedCount(counts);
  return (
    <div
      className={thin ? 'progress progress-thin' : 'progress'}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={total}
      aria-valuenow={ended}
      aria-valuetext={`${countText(ended)} of ${countText(total)} processed`}
    >
      {ITEM_ORDER.map((state) =>
        counts[state] === 0 ? null : (
          <span key={state} data-item={state} style={{ width: `${(counts[state] / Math.max(1, total)) * 100}%` }} />
        ),
      )}
    </div>
  );
}

export interface FiguresProps {
  readonly counts: RepairEntry['counts'];
  readonly action: RepairAction;
}

export function Figures({ counts, action }: FiguresProps) {
  return (
    <dl className="figures">
      {ITEM_ORDER.map((state) => {
        const deleted = action === 'delete' && state === 'succeeded';
        if (action === 'delete' && (state === 'failed' || state === 'canceled' || state === 'started')) return null;
        return (
          <div key={state}>
            <dt className="figure-name">
              <span className="swatch" data-item={state} aria-hidden="true" />
              {deleted ? 'Deleted' : ITEM_STATES[state].text}
            </dt>
            <dd className="figure-value">{countText(counts[state])}</dd>
          </div>
        );
      })}
    </dl>
  );
}
