/**
 * Tooltip with exact times in a table: the time under the pointer or finger, or all times of the row with the keyboard focus.
 * One tooltip per time would dominate the cost of rendering a row, and scrolling renders hundreds of rows. The table therefore
 * has a single tooltip and reads the times from data attributes.
 */
import { Tooltip } from '@base-ui/react/tooltip';
import { type FocusEvent, type MouseEvent, type PointerEvent, useCallback, useEffect, useId, useRef, useState } from 'react';
import { ExactTimePopup } from '../times/exact-time-popup.js';
import { ExactTime, OPEN_AFTER_MS } from '../times/time-text.js';

/** Delay after focus, so that moving through the rows does not open a tooltip at each of them. */
const OPEN_AFTER_FOCUS_MS = 600;

interface ShownTime {
  readonly unixMs: number;
  readonly relative: boolean;
  /** Label of the time, or its text in the row. */
  readonly of: string;
}

interface TooltipTarget {
  readonly anchor: HTMLElement;
  readonly times: readonly ShownTime[];
  /** The row with the focus, which the tooltip describes; null for a single time. */
  readonly row: HTMLElement | null;
}

const timeAt = (target: EventTarget): HTMLElement | null =>
  target instanceof Element ? target.closest<HTMLElement>('[data-time]') : null;

const shownTime = ({ dataset, textContent }: HTMLElement): ShownTime => ({
  unixMs: Number(dataset.time),
  relative: dataset.relative !== undefined,
  of: dataset.of ?? textContent ?? '',
});

function timesOf(row: HTMLElement): TooltipTarget | null {
  const elements = [...row.querySelectorAll<HTMLElement>('[data-time]')];
  const [anchor] = elements;
  const byTime = new Map(elements.map((element) => [`${element.dataset.time} ${element.dataset.of}`, shownTime(element)]));
  return anchor === undefined ? null : { anchor, row, times: [...byTime.values()] };
}

const timeOf = (anchor: HTMLElement): TooltipTarget => ({ anchor, row: null, times: [shownTime(anchor)] });

/** Returns event handlers for the element around the rows, and the popup to render beside them. */
export function useTableTimes() {
  const [shown, setShown] = useState<TooltipTarget | null>(null);
  /** Separate timers: rows that scroll under a resting pointer must not cancel the tooltip of the focused row. */
  const pointerTimer = useRef<number | undefined>(undefined);
  const focusTimer = useRef<number | undefined>(undefined);
  const touched = useRef(false);
  const clearTimers = useCallback(() => {
    window.clearTimeout(pointerTimer.current);
    window.clearTimeout(focusTimer.current);
  }, []);
  const close = () => {
    clearTimers();
    setShown(null);
  };
  const showIfThere = (found: TooltipTarget | null) => setShown(found?.anchor.isConnected ? found : null);
  useEffect(() => clearTimers, [clearTimers]);
  useEffect(() => {
    if (shown === null) return;
    const leave = () => setShown(null);
    // After scrolling, the element may show another row.
    window.addEventListener('scroll', leave, { passive: true });
    return () => window.removeEventListener('scroll', leave);
  }, [shown]);
  return {
    onPointerDown: ({ pointerType }: PointerEvent) => {
      touched.current = pointerType === 'touch';
    },
    onPointerOver: ({ target, pointerType }: PointerEvent) => {
      const time = pointerType === 'touch' ? null : timeAt(target);
      if (time !== null && time === shown?.anchor && shown.row === null) return;
      window.clearTimeout(pointerTimer.current);
      if (shown?.row === null) setShown(null);
      if (time !== null) pointerTimer.current = window.setTimeout(() => showIfThere(timeOf(time)), OPEN_AFTER_MS);
    },
    onPointerLeave: () => {
      window.clearTimeout(pointerTimer.current);
      if (shown?.row === null) setShown(null);
    },
    onFocus: ({ target }: FocusEvent<HTMLElement>) => {
      if (!target.matches('.table-row:focus-visible')) return;
      focusTimer.current = window.setTimeout(() => showIfThere(timesOf(target)), OPEN_AFTER_FOCUS_MS);
    },
    onBlur: close,
    onKeyDown: ({ key }: { readonly key: string }) => {
      if (key === 'Escape') close();
    },
    /** Returns whether a touch on a time opened the tooltip, so that the tap must not open the row. */
    takesClick: ({ target }: MouseEvent): boolean => {
      const time = touched.current ? timeAt(target) : null;
      if (time === null) close();
      else setShown(timeOf(time));
      return time !== null;
    },
    popup: shown === null ? null : <TimesPopup shown={shown} onClose={close} />,
  };
}

function TimesPopup({ shown, onClose }: { readonly shown: TooltipTarget; readonly onClose: () => void }) {
  const { anchor, row, times } = shown;
  const id = useId();
  useEffect(() => {
    row?.setAttribute('aria-describedby', id);
    return () => row?.removeAttribute('aria-describedby');
  }, [row, id]);
  return (
    <Tooltip.Root open onOpenChange={(open) => (open ? undefined : onClose())}>
      <ExactTimePopup id={id} anchor={anchor}>
        {times.map(({ unixMs, relative, of }) => (
          <div key={`${unixMs} ${of}`} className="tooltip-time">
            {times.length === 1 ? null : <span className="tooltip-of">{of}</span>}
            <ExactTime unixMs={unixMs} relative={relative || times.length > 1} />
          </div>
        ))}
      </ExactTimePopup>
    </Tooltip.Root>
  );
}
