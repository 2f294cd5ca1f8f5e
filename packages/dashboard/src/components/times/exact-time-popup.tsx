/** Popup that shows exact times beside its anchor. */
import { Tooltip } from '@base-ui/react/tooltip';
import type { ReactNode } from 'react';

export interface ExactTimePopupProps {
  readonly id?: string;
  /** Element to position the popup at. Default: the trigger of the tooltip. */
  readonly anchor?: HTMLElement;
  readonly children: ReactNode;
}

export function ExactTimePopup({ id, anchor, children }: ExactTimePopupProps) {
  return (
    // Inside the main landmark, so that screen readers that navigate by landmark find it.
    <Tooltip.Portal container={document.getElementById('page')}>
      <Tooltip.Positioner sideOffset={6} className="tooltip-positioner" {...(anchor === undefined ? {} : { anchor })}>
        <Tooltip.Popup className="tooltip" {...(id === undefined ? {} : { id })}>
          {children}
        </Tooltip.Popup>
      </Tooltip.Positioner>
    </Tooltip.Portal>
  );
}
