/** The popup of the `TimeTooltip`. */
import { Tooltip } from '@base-ui/react/tooltip';
import { useEffect, useId } from 'react';
import { useTimedText } from './clock.js';
import { exactTime, relativeText } from './formats.js';

export interface ShownTime {
  readonly unixMs: number;
  readonly isRelative: boolean;
  /** Label of the time, or its text in the row. */
  readonly label: string;
}

export interface ShownTimes {
  readonly anchor: HTMLElement;
  readonly times: readonly ShownTime[];
  /** The element with the keyboard focus, which the tooltip describes; null if a pointer opened it. */
  readonly focusedElement: HTMLElement | null;
}

interface TimesPopupProps {
  readonly shownTimes: ShownTimes;
  readonly onClose: () => void;
}

export default function TimesPopup({ shownTimes: { anchor, focusedElement, times }, onClose }: TimesPopupProps) {
  const id = useId();
  useEffect(() => {
    focusedElement?.setAttribute('aria-describedby', id);
    return () => focusedElement?.removeAttribute('aria-describedby');
  }, [focusedElement, id]);
  return (
    <Tooltip.Root open onOpenChange={(open) => (open ? undefined : onClose())}>
      {/* Inside the main landmark, so that screen readers that navigate by landmark find it. */}
      <Tooltip.Portal container={document.getElementById('page')}>
        <Tooltip.Positioner sideOffset={6} className="popup-positioner" anchor={anchor}>
          <Tooltip.Popup className="tooltip" id={id}>
            {times.map(({ unixMs, isRelative, label }) => (
              <div key={`${unixMs} ${label}`} className="tooltip-time">
                {times.length === 1 ? null : <span className="tooltip-label">{label}</span>}
                <span>{exactTime(unixMs, 'utc')}</span>
                <span>{exactTime(unixMs, 'local')} local</span>
                {isRelative || times.length > 1 ? null : <RelativeTime unixMs={unixMs} />}
              </div>
            ))}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}

function RelativeTime({ unixMs }: { readonly unixMs: number }) {
  return <span>{useTimedText((now) => relativeText(unixMs, now))}</span>;
}
