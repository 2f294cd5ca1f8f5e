/** Modal dialogs. They trap the focus and return it when they close; Escape closes them. */
import { createContext, type ReactNode, use, useEffect, useRef, useState } from 'react';
import { type Failure, type Outcome, outcomeOf } from '../api/outcome.js';
import type { DialogWindowProps } from './dialogs/dialog-frame.js';
import { loadAfterPage } from './loading/load-after-page.js';
import { FailureNotice } from './states.js';
import { toastFailure } from './toasts.js';

const DialogFrame = loadAfterPage(() => import('./dialogs/dialog-frame.js'));

/** Closes the dialog around it. */
const CloseDialog = createContext(() => {});

export const DialogWindow = (props: DialogWindowProps) => (
  <CloseDialog value={props.onClose}>
    <DialogFrame {...props} />
  </CloseDialog>
);

export function DialogClose({ children = 'Cancel' }: { readonly children?: string }) {
  return (
    <button type="button" className="button" onClick={use(CloseDialog)}>
      {children}
    </button>
  );
}

export interface ConfirmDialogProps {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  /** What will happen, to what, and whether it can be undone. */
  readonly children: ReactNode;
  /** Label of the confirm button: the action, not `OK`. */
  readonly confirmText: string;
  /** Label of the button that closes the dialog. Default: `Cancel`. */
  readonly closeText?: string;
  readonly danger?: boolean;
  readonly wide?: boolean;
  /** Whether the action is impossible with the current input. */
  readonly disabled?: boolean;
  /** Performs the action. On success, the dialog closes. It shows a failure, or a message does if the dialog has been closed. */
  readonly onConfirm: () => Promise<Outcome<unknown>>;
}

export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, open, onClose, children, confirmText, closeText, danger = false, wide = false, disabled = false } = props;
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  /** Incremented when the dialog closes, so that the outcome of an earlier opening does not affect a later one. */
  const closings = useRef(0);
  useEffect(
    () => () => {
      closings.current += 1;
    },
    [],
  );
  const close = () => {
    closings.current += 1;
    setBusy(false);
    setFailure(null);
    onClose();
  };
  const confirm = async () => {
    const closingsBefore = closings.current;
    setBusy(true);
    setFailure(null);
    const outcome = await outcomeOf(props.onConfirm);
    if (closings.current !== closingsBefore) {
      if (!outcome.ok) toastFailure(outcome.failure);
      return;
    }
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
          {closeText === undefined ? <DialogClose /> : <DialogClose>{closeText}</DialogClose>}
          <button
            type="button"
            className={danger ? 'button button-danger' : 'button button-primary'}
            disabled={busy || disabled}
            onClick={confirm}
          >
            {busy ? 'Working…' : confirmText}
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
