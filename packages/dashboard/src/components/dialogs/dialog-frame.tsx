import { Dialog } from '@base-ui/react/dialog';
import type { ReactNode } from 'react';

export interface DialogWindowProps {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly wide?: boolean;
  /** Whether it always has the full height of the window, so that live content does not move. */
  readonly high?: boolean;
  /** Buttons at the bottom; the primary one is last. Use `DialogClose` for a button that closes the dialog. */
  readonly actions?: ReactNode;
}

export default function DialogFrame({ title, open, onClose, children, wide, high, actions }: DialogWindowProps) {
  return (
    <Dialog.Root open={open} onOpenChange={(next) => (next ? undefined : onClose())}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className={`dialog ${wide ? 'dialog-wide' : ''} ${high ? 'dialog-high' : ''}`}>
          <Dialog.Title>{title}</Dialog.Title>
          {children}
          {actions === undefined ? null : <div className="dialog-actions">{actions}</div>}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
