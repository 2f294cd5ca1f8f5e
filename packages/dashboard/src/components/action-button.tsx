/**
 * A button for an action. A disabled button stays focusable and explains why it is disabled: in its tooltip, to screen readers, and
 * in a notification when it is pressed.
 */
import type { ButtonHTMLAttributes, MouseEvent } from 'react';
import { toastInfo } from './toasts.js';

export interface ActionButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled' | 'className' | 'type'> {
  /** Why the button is disabled; undefined if it is enabled. */
  readonly disabledReason: string | undefined;
  /** Whether the action is in progress. */
  readonly busy?: boolean;
  readonly variant?: 'plain' | 'primary' | 'danger' | 'quiet';
  readonly small?: boolean;
  /** Whether it submits its form. It needs no `onClick` then. */
  readonly submits?: boolean;
}

export function ActionButton(props: ActionButtonProps) {
  const {
    disabledReason,
    busy = false,
    variant = 'plain',
    small = false,
    submits = false,
    onClick,
    title,
    children,
    ...attributes
  } = props;
  const press = (event: MouseEvent<HTMLButtonElement>) => {
    if (disabledReason === undefined && !busy) return onClick?.(event);
    event.preventDefault();
    if (disabledReason !== undefined) toastInfo(disabledReason);
  };
  return (
    <button
      {...attributes}
      type={submits ? 'submit' : 'button'}
      className={`button${variant === 'plain' ? '' : ` button-${variant}`}${small ? ' button-small' : ''}`}
      aria-disabled={disabledReason !== undefined || busy ? true : undefined}
      title={disabledReason ?? title}
      onClick={press}
    >
      {children}
    </button>
  );
}
