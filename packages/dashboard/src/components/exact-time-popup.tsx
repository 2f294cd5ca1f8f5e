/** The popup that shows exact times beside their anchor. */
import { Tooltip } from '@base-ui/react/tooltip';
import type { ReactNode } from 'react';

export interface ExactTimePopupProps {
  readonly id?: string;
  /** The trigger of the tooltip when it is absent. */
  readonly anchor?: HTMLElement;
  readonly children: ReactNode;
}

export function ExactTimePopup({ id, anchor, children }: ExactTimePopupProps) {
  return (
    // Inside the main landmark, so that screen readers that go through landmarks find it.
    <Tooltip.Portal container={document.getElementById('page')}>
      <Tooltip.Positioner sideOffset={6} className="tooltip-place" {...(anchor === undefined ? {} : { anchor })}>
        <Tooltip.Popup className="tooltip" {...(id === undefined ? {} : { id })}>
          {children}
        </Tooltip.Popup>
      </Tooltip.Positioner>
    </Tooltip.Portal>
  );
}
