/** A time: in the zone of the reader; the exact one in both zones on hover and focus. */
import { Tooltip } from '@base-ui/react/tooltip';
import { use } from 'react';
import { useNow } from './clock.js';
import { exactTime, relativeText, shortTime } from './formats.js';
import { InTable } from './in-table.js';

export interface TimeTextProps {
  readonly unixMs: number;
  /** `relative`: 5 min ago; `short`: without what today makes known; `exact`: with the day. */
  readonly style?: 'relative' | 'short' | 'exact';
}

export function TimeText({ unixMs, style = 'short' }: TimeTextProps) {
  // In a table the row is what gets the focus: a stop at every time would make the way long.
  const inTable = use(InTable);
  const now = useNow();
  const exact = exactTime(unixMs, 'local');
  const text = style === 'relative' ? relativeText(unixMs, now) : style === 'short' ? shortTime(unixMs, now) : exact;
  const time = new Date(unixMs).toISOString();
  return (
    <Tooltip.Root>
      <Tooltip.Trigger delay={200} render={<span className="time" tabIndex={inTable ? -1 : 0} />}>
        <time dateTime={time}>{text}</time>
      </Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Positioner sideOffset={6} className="tooltip-place">
          <Tooltip.Popup className="tooltip">
            <span>{exactTime(unixMs, 'utc')}</span>
            <span>{exact} here</span>
            {style === 'relative' ? null : <span>{relativeText(unixMs, now)}</span>}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
