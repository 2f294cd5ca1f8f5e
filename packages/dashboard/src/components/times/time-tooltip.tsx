/**
 * Tooltip with exact times: the time under the pointer, finger or focus, or all times of the table row with the keyboard focus. A
 * tooltip per time would dominate the cost of rendering lists, so a page has one, which reads the times from data attributes.
 */
import { useEffect, useState } from 'react';
import { loadAfterPage } from '../loading/load-after-page.js';
import type { ShownTime, ShownTimes } from './times-popup.js';

const TimesPopup = loadAfterPage(() => import('./times-popup.js'));

/** How long the pointer must rest on a time before the tooltip opens. */
const OPEN_AFTER_MS = 200;
/** Delay after focus, so that moving through the rows does not open a tooltip at each of them. */
const OPEN_AFTER_FOCUS_MS = 600;

const timeAt = (target: EventTarget | null): HTMLElement | null =>
  target instanceof Element ? target.closest<HTMLElement>('[data-time]') : null;

const shownTime = ({ dataset, textContent }: HTMLElement): ShownTime => ({
  unixMs: Number(dataset.time),
  isRelative: dataset.relative !== undefined,
  label: dataset.label ?? textContent ?? '',
});

const timeOf = (anchor: HTMLElement): ShownTimes => ({ anchor, focusedElement: null, times: [shownTime(anchor)] });

/** Returns the times in an element with the focus: a row or a time. */
function timesIn(focused: HTMLElement): ShownTimes | null {
  const elements = focused.dataset.time === undefined ? [...focused.querySelectorAll<HTMLElement>('[data-time]')] : [focused];
  const [anchor] = elements;
  const byTime = new Map(elements.map((element) => [`${element.dataset.time} ${element.dataset.label}`, shownTime(element)]));
  return anchor === undefined ? null : { anchor, focusedElement: focused, times: [...byTime.values()] };
}

/** Shows and hides the tooltip on the events of the document. Returns a function that removes the listeners. */
function followTimes(setShown: (change: (shown: ShownTimes | null) => ShownTimes | null) => void): () => void {
  // Two timers, because rows that scroll under a resting pointer must not cancel the tooltip of the focused row.
  let pointerTimer: number | undefined;
  let focusTimer: number | undefined;
  let isTouch = false;
  const close = () => {
    window.clearTimeout(pointerTimer);
    window.clearTimeout(focusTimer);
    setShown(() => null);
  };
  const show = (times: ShownTimes | null) => setShown(() => (times?.anchor.isConnected ? times : null));
  const leaveTime = () => {
    window.clearTimeout(pointerTimer);
    setShown((shown) => (shown?.focusedElement ? shown : null));
  };
  const listeners = new AbortController();
  const on = <Name extends keyof DocumentEventMap>(name: Name, listener: (event: DocumentEventMap[Name]) => void) =>
    document.addEventListener(name, listener, { capture: true, passive: name === 'scroll', signal: listeners.signal });
  on('pointerdown', ({ pointerType }) => {
    isTouch = pointerType === 'touch';
  });
  on('pointerover', ({ target, relatedTarget, pointerType }) => {
    const time = pointerType === 'touch' ? null : timeAt(target);
    if (time !== null && time === timeAt(relatedTarget)) return;
    leaveTime();
    if (time !== null) pointerTimer = window.setTimeout(() => show(timeOf(time)), OPEN_AFTER_MS);
  });
  on('pointerout', ({ relatedTarget }) => {
    if (relatedTarget === null) leaveTime();
  });
  on('focusin', ({ target }) => {
    if (!(target instanceof HTMLElement) || !target.matches('.table-row:focus-visible, [data-time]:focus-visible')) return;
    focusTimer = window.setTimeout(() => show(timesIn(target)), OPEN_AFTER_FOCUS_MS);
  });
  on('focusout', close);
  on('keydown', ({ key }) => {
    if (key === 'Escape') close();
  });
  on('click', (event) => {
    const time = isTouch ? timeAt(event.target) : null;
    if (time === null) return close();
    // The tap does not open the row of the time.
    if (time.closest('.table-row')) event.preventDefault();
    show(timeOf(time));
  });
  // After scrolling, the element may show another row.
  on('scroll', () => setShown(() => null));
  return () => {
    close();
    listeners.abort();
  };
}

export function TimeTooltip() {
  const [shownTimes, setShownTimes] = useState<ShownTimes | null>(null);
  useEffect(() => followTimes(setShownTimes), []);
  return shownTimes === null ? null : <TimesPopup shownTimes={shownTimes} onClose={() => setShownTimes(null)} />;
}
