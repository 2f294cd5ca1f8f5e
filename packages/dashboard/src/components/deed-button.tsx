/**
 * A button that does something. One that is off stays in the order of focus and says why: on hover, to those who are read to,
 * and in words when it is pressed all the same, as those do who have neither a pointer nor a reader.
 */
import type { ButtonHTMLAttributes, MouseEvent } from 'react';
import { toastNote } from './toasts.js';

export interface DeedButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled' | 'className' | 'type'> {
  /** Why it is off, in words; undefined: it is on. */
  readonly off: string | undefined;
  /** What it does is under way. */
  readonly busy?: boolean;
  readonly look?: 'plain' | 'primary' | 'danger' | 'quiet';
  readonly small?: boolean;
  /** Sends the form in which it stands; then it needs no `onClick`. */
  readonly submits?: boolean;
}

export function DeedButton(props: DeedButtonProps) {
  const { off, busy = false, look = 'plain', small = false, submits = false, onClick, title, children, ...rest } = props;
  const press = (event: MouseEvent<HTMLButtonElement>) => {
    if (off === undefined && !busy) return onClick?.(event);
    event.preventDefault();
    if (off !== undefined) toastNote(off);
  };
  return (
    <button
      {...rest}
      type={submits ? 'submit' : 'button'}
      className={`button${look === 'plain' ? '' : ` button-${look}`}${small ? ' button-small' : ''}`}
      aria-disabled={off !== undefined || busy ? true : undefined}
      title={off ?? title}
      onClick={press}
    >
      {children}
    </button>
  );
}
