/** What a flow control key uses of what it allows, as a bar with its figures. */
import type { FlowControlEntry } from '../../../../everstep/src/contract/service.js';
import { countText, durationText } from '../../components/formats.js';
import './flow-control.css';

export interface UsageProps {
  /** What is counted, in words: `in flight`. */
  readonly what: string;
  readonly used: number;
  /** undefined: it has no limit. */
  readonly most: number | undefined;
}

export function Usage({ what, used, most }: UsageProps) {
  if (most === undefined)
    return (
      <span className="muted">
        {countText(used)} {what}, no limit
      </span>
    );
  const part = most === 0 ? 1 : Math.min(1, used / most);
  return (
    <span className="usage">
      <span className="usage-bar" aria-hidden="true">
        <span className="usage-used" data-full={used >= most ? '' : undefined} style={{ width: `${part * 100}%` }} />
      </span>
      <span className="usage-text">
        {countText(used)} of {countText(most)} {what}
      </span>
    </span>
  );
}

const periodText = ({ ratePeriod = 1 }: FlowControlEntry): string => durationText(ratePeriod * 1000);

export const ParallelismUsage = ({ entry }: { readonly entry: FlowControlEntry }) => (
  <Usage what="in flight" used={entry.parallelismCount} most={entry.parallelismMax} />
);

export const RateUsage = ({ entry }: { readonly entry: FlowControlEntry }) =>
  entry.rateMax === undefined ? (
    <span className="muted">no limit</span>
  ) : (
    <Usage what={`started in ${periodText(entry)}`} used={entry.rateCount ?? 0} most={entry.rateMax} />
  );
