/** Usage of the limits of a flow control key, as a bar with numbers. */
import type { FlowControlEntry } from '../../../../everstep/src/contract/service.js';
import { countText, durationText } from '../../components/times/formats.js';
import './flow-control.css';

export interface UsageProps {
  /** Text after the number, such as `in flight`. */
  readonly countName: string;
  readonly used: number;
  /** The limit; undefined if there is none. */
  readonly max: number | undefined;
}

export function Usage({ countName, used, max }: UsageProps) {
  if (max === undefined)
    return (
      <span className="muted">
        {countText(used)} {countName}, no limit
      </span>
    );
  const fraction = max === 0 ? 1 : Math.min(1, used / max);
  return (
    <span className="usage">
      <span className="usage-bar" aria-hidden="true">
        <span className="usage-used" data-full={used >= max ? '' : undefined} style={{ width: `${fraction * 100}%` }} />
      </span>
      <span className="usage-text">
        {countText(used)} of {countText(max)} {countName}
      </span>
    </span>
  );
}

const periodText = ({ ratePeriod = 1 }: FlowControlEntry): string => durationText(ratePeriod * 1000);

export const ParallelismUsage = ({ entry }: { readonly entry: FlowControlEntry }) => (
  <Usage countName="in flight" used={entry.parallelismCount} max={entry.parallelismMax} />
);

export const RateUsage = ({ entry }: { readonly entry: FlowControlEntry }) =>
  entry.rateMax === undefined ? (
    <span className="muted">no limit</span>
  ) : (
    <Usage countName={`started in ${periodText(entry)}`} used={entry.rateCount ?? 0} max={entry.rateMax} />
  );
