/** A time: in the zone of the reader; the exact one in both zones on hover and focus. */
import { Tooltip } from '@base-ui/react/tooltip';
import { type PointerEvent, use, useEffect, useRef, useState } from 'react';
import { useByTheClock } from './clock.js';
import { exactTime, relativeText, shortTime } from './formats.js';
import { InTable } from './in-table.js';

export interface TimeTextProps {
  readonly unixMs: number;
  /** `relative`: 5 min ago; `short`: without what today makes known; `exact`: with the day. */
  readonly style?: 'relative' | 'short' | 'exact';
}

const OPEN_AFTER_MS = 200;

export function TimeText({ unixMs, style = 'short' }: TimeTextProps) {
  const inTable = use(InTable);
  const text = useByTheClock((now) =>
    style === 'relative' ? relativeText(unixMs, now) : style === 'short' ? shortTime(unixMs, now) : exactTime(unixMs, 'local'),
  );
  const time = <time dateTime={new Date(unixMs).toISOString()}>{text}</time>;
  // In a table the row is what gets the focus, a stop at every time would make the way long; and the table tells of all of them.
  if (inTable)
    return (
      <span className="time" data-time={unixMs} data-relative={style === 'relative' ? '' : undefined}>
        {time}
      </span>
    );
  return (
    <Tooltip.Root>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what is told on hover is told on focus too */}
      <Tooltip.Trigger delay={OPEN_AFTER_MS} render={<span className="time" tabIndex={0} />}>
        {time}
      </Tooltip.Trigger>
      <ExactTimes unixMs={unixMs} relative={style === 'relative'} />
    </Tooltip.Root>
  );
}

interface ExactTimesProps {
  readonly unixMs: number;
  /** Whether how long ago it is stands there already. */
  readonly relative: boolean;
  readonly anchor?: Element;
}

function ExactTimes({ unixMs, relative, anchor }: ExactTimesProps) {
  return (
    <Tooltip.Portal>
      <Tooltip.Positioner sideOffset={6} className="tooltip-place" {...(anchor === undefined ? {} : { anchor })}>
        <Tooltip.Popup className="tooltip">
          <span>{exactTime(unixMs, 'utc')}</span>
          <span>{exactTime(unixMs, 'local')} here</span>
          {relative ? null : <Ago unixMs={unixMs} />}
        </Tooltip.Popup>
      </Tooltip.Positioner>
    </Tooltip.Portal>
  );
}

function Ago({ unixMs }: { readonly unixMs: number }) {
  return <span>{useByTheClock((now) => relativeText(unixMs, now))}</span>;
}

/**
 * The exact times of a table on hover, for whatever time the pointer rests on: a tooltip for each would be most of what a row
 * costs, and rows are made by the hundred while somebody scrolls.
 * @returns what the element around the rows hears, and what stands beside it
 */
export function useTableTimes() {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const timer = useRef<number | undefined>(undefined);
  const close = () => {
    window.clearTimeout(timer.current);
    setAnchor(null);
  };
  useEffect(() => () => window.clearTimeout(timer.current), []);
  useEffect(() => {
    if (anchor === null) return;
    const leave = () => setAnchor(null);
    // Its row may be another one's by then.
    window.addEventListener('scroll', leave, { passive: true });
    return () => window.removeEventListener('scroll', leave);
  }, [anchor]);
  const onPointerOver = ({ target, pointerType }: PointerEvent) => {
    const time = pointerType === 'touch' || !(target instanceof Element) ? null : target.closest<HTMLElement>('[data-time]');
    if (time === anchor && time !== null) return;
    close();
    if (time !== null) timer.current = window.setTimeout(() => setAnchor(time.isConnected ? time : null), OPEN_AFTER_MS);
  };
  const onKeyDown = ({ key }: { readonly key: string }) => {
    if (key === 'Escape') close();
  };
  const popup =
    anchor === null ? null : (
      <Tooltip.Root open onOpenChange={(open) => (open ? undefined : close())}>
        <ExactTimes unixMs={Number(anchor.dataset.time)} relative={anchor.dataset.relative !== undefined} anchor={anchor} />
      </Tooltip.Root>
    );
  return { onPointerOver, onPointerLeave: close, onKeyDown, popup };
}
