/** A time: in the zone of the reader; the exact one in both zones on hover and focus, and at a touch. */
import { Tooltip } from '@base-ui/react/tooltip';
import { type ReactNode, use, useRef, useState } from 'react';
import { useByTheClock } from './clock.js';
import { ExactTimePopup } from './exact-time-popup.js';
import { exactTime, relativeText, shortTime } from './formats.js';
import { InTable } from './in-table.js';

export interface TimeTextProps {
  readonly unixMs: number;
  /** `relative`: 5 min ago; `short`: without what today makes known; `exact`: with the day. */
  readonly style?: 'relative' | 'short' | 'exact';
  /** What it is the time of: for a row of a table that has several. */
  readonly of?: string;
}

/** The pointer has to rest on a time for so long. */
export const OPEN_AFTER_MS = 200;

export function TimeText({ unixMs, style = 'short', of }: TimeTextProps) {
  const inTable = use(InTable);
  const text = useByTheClock((now) =>
    style === 'relative' ? relativeText(unixMs, now) : style === 'short' ? shortTime(unixMs, now) : exactTime(unixMs, 'local'),
  );
  const time = <time dateTime={new Date(unixMs).toISOString()}>{text}</time>;
  // In a table the row is what gets the focus, a stop at every time would make the way long; and the table tells of all of them.
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
  /** Whether how long ago it is stands there already. */
  readonly relative: boolean;
  readonly children: ReactNode;
}

function TimeWithExact({ unixMs, relative, children }: TimeWithExactProps) {
  const [open, setOpen] = useState(false);
  const touched = useRef(false);
  const onOpenChange: TooltipOpenChange = (next, { reason }) => {
    // After a touch browsers tell of a mouse that was there and left.
    if (!touched.current || reason !== 'trigger-hover') setOpen(next);
  };
  return (
    <Tooltip.Root open={open} onOpenChange={onOpenChange}>
      <Tooltip.Trigger
        delay={OPEN_AFTER_MS}
        closeOnClick={false}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what is told on hover is told on focus too; a finger does neither
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
      <span>{exactTime(unixMs, 'local')} here</span>
      {relative ? null : <Ago unixMs={unixMs} />}
    </>
  );
}

function Ago({ unixMs }: { readonly unixMs: number }) {
  return <span>{useByTheClock((now) => relativeText(unixMs, now))}</span>;
}
