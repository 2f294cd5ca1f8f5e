/** A time in the user's time zone. Hover, focus or touch shows the exact time, local and in UTC. */
import { Tooltip } from '@base-ui/react/tooltip';
import { type ReactNode, use, useRef, useState } from 'react';
import { InTable } from '../tables/in-table.js';
import { useTimedText } from './clock.js';
import { ExactTimePopup } from './exact-time-popup.js';
import { exactTime, relativeText, shortTime } from './formats.js';

export interface TimeTextProps {
  readonly unixMs: number;
  /** `relative`: 5 min ago; `short`: without the date if it is today; `exact`: with the date. */
  readonly style?: 'relative' | 'short' | 'exact';
  /** Label of the time, for table rows that contain several times. */
  readonly of?: string;
}

/** How long the pointer must rest on a time before the tooltip opens. */
export const OPEN_AFTER_MS = 200;

export function TimeText({ unixMs, style = 'short', of }: TimeTextProps) {
  const inTable = use(InTable);
  const text = useTimedText((now) =>
    style === 'relative' ? relativeText(unixMs, now) : style === 'short' ? shortTime(unixMs, now) : exactTime(unixMs, 'local'),
  );
  const time = <time dateTime={new Date(unixMs).toISOString()}>{text}</time>;
  // In a table the row takes the focus instead of each time, and the table shows one tooltip for all times of the row.
  if (inTable)
    return (
      <span className="time" data-time={unixMs} data-relative={style === 'relative' ? '' : undefined} data-of={of}>
        {time}
      </span>
    );
  return (
    <TimeWithExact unixMs={unixMs} relative={style === 'relative'}>
      {time}
    </TimeWithExact>
  );
}

type TooltipOpenChange = NonNullable<Tooltip.Root.Props['onOpenChange']>;

interface TimeWithExactProps {
  readonly unixMs: number;
  /** Whether the text already shows how long ago it is. */
  readonly relative: boolean;
  readonly children: ReactNode;
}

function TimeWithExact({ unixMs, relative, children }: TimeWithExactProps) {
  const [open, setOpen] = useState(false);
  const touched = useRef(false);
  const onOpenChange: TooltipOpenChange = (next, { reason }) => {
    // After a touch, browsers emulate mouse events that would close the tooltip.
    if (!touched.current || reason !== 'trigger-hover') setOpen(next);
  };
  return (
    <Tooltip.Root open={open} onOpenChange={onOpenChange}>
      <Tooltip.Trigger
        delay={OPEN_AFTER_MS}
        closeOnClick={false}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users need the tooltip that hover shows
        render={<span className="time" tabIndex={0} />}
        onPointerEnter={({ pointerType }) => {
          touched.current = pointerType === 'touch';
        }}
        onClick={() => {
          if (touched.current) setOpen(true);
        }}
      >
        {children}
      </Tooltip.Trigger>
      <ExactTimePopup>
        <ExactTime unixMs={unixMs} relative={relative} />
      </ExactTimePopup>
    </Tooltip.Root>
  );
}

export function ExactTime({ unixMs, relative }: Pick<TimeWithExactProps, 'unixMs' | 'relative'>) {
  return (
    <>
      <span>{exactTime(unixMs, 'utc')}</span>
      <span>{exactTime(unixMs, 'local')} local</span>
      {relative ? null : <Ago unixMs={unixMs} />}
    </>
  );
}

function Ago({ unixMs }: { readonly unixMs: number }) {
  return <span>{useTimedText((now) => relativeText(unixMs, now))}</span>;
}
