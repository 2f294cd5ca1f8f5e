/** A time in the user's time zone. The `TimeTooltip` of the page shows the exact time, local and in UTC. */
import { use } from 'react';
import { InTableContext } from '../tables/in-table.js';
import { useTimedText } from './clock.js';
import { exactTime, relativeText, shortTime } from './formats.js';

export interface TimeTextProps {
  readonly unixMs: number;
  /** Format: `relative` (5 min ago), `short` (without the date if it is today) or `exact` (with the date). */
  readonly style?: 'relative' | 'short' | 'exact';
  /** Label of the time, for table rows that contain several times. */
  readonly label?: string;
}

export function TimeText({ unixMs, style = 'short', label }: TimeTextProps) {
  const inTable = use(InTableContext);
  const text = useTimedText((now) =>
    style === 'relative' ? relativeText(unixMs, now) : style === 'short' ? shortTime(unixMs, now) : exactTime(unixMs, 'local'),
  );
  return (
    <span
      className="time"
      data-time={unixMs}
      data-relative={style === 'relative' ? '' : undefined}
      data-label={label}
      // In a table the row receives focus instead. Elsewhere, keyboard users need the tooltip that hovering shows.
      tabIndex={inTable ? undefined : 0}
    >
      <time dateTime={new Date(unixMs).toISOString()}>{text}</time>
    </span>
  );
}
