/** Windows over the page. Focus goes in, stays in, and comes back; Escape closes. */
import { Dialog } from '@base-ui/react/dialog';
import { type ReactNode, useState } from 'react';
import type { Failure, Outcome } from '../api/outcome.js';
import { FailureNotice } from './states.js';

export interface DialogWindowProps {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly wide?: boolean;
  /** As high as the window, whatever is in it: what is live does not move. */
  readonly high?: boolean;
  /** Buttons at the end, the one that acts last. A button to close comes with `DialogClose`. */
  readonly actions?: ReactNode;
}

export function DialogWindow({ title, open, onClose, children, wide = false, high = false, actions }: DialogWindowProps) {
  return (
    <Dialog.Root open={open} onOpenChange={(next) => (next ? undefined : onClose())}>
      <Dialog.Portal>
        <Dialog.Backdrop className="veil" />
        <Dialog.Popup className={`dialog ${wide ? 'dialog-wide' : ''} ${high ? 'dialog-high' : ''}`}>
          <Dialog.Title>{title}</Dialog.Title>
          {children}
          {actions === undefined ? null : <div className="dialog-actions">{actions}</div>}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

export function DialogClose({ children = 'Cancel' }: { readonly children?: string }) {
  return <Dialog.Close className="button">{children}</Dialog.Close>;
}

export interface ConfirmDialogProps {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  /** What will happen, to what, and whether it can be undone. */
  readonly children: ReactNode;
  /** What the button that acts says: the deed, not `OK`. */
  readonly confirmText: string;
  readonly danger?: boolean;
  readonly wide?: boolean;
  /** The deed cannot be done with what is filled in. */
  readonly disabled?: boolean;
  /** Does it. The dialog closes when it was done, and shows the failure otherwise. */
  readonly onConfirm: () => Promise<Outcome<unknown>>;
}

export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, open, onClose, children, confirmText, danger = false, wide = false, disabled = false, onConfirm } = props;
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const close = () => {
    setFailure(null);
    onClose();
  };
  const confirm = async () => {
    setBusy(true);
    setFailure(null);
    const outcome = await onConfirm();
    setBusy(false);
    if (outcome.ok) close();
    else setFailure(outcome.failure);
  };
  return (
    <DialogWindow
      title={title}
      open={open}
      onClose={close}
      wide={wide}
      actions={
        <>
          <DialogClose />
          <button
            type="button"
            className={danger ? 'button button-danger' : 'button button-primary'}
            disabled={busy || disabled}
            onClick={confirm}
          >
            {busy ? 'One moment …' : confirmText}
          </button>
        </>
      }
    >
      <div className="stack">
        {children}
        {failure === null ? null : <FailureNotice failure={failure} />}
      </div>
    </DialogWindow>
  );
}
