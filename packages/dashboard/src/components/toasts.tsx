/** Short notifications about actions: shown for a while and announced by screen readers. */
import { useSyncExternalStore } from 'react';
import type { Failure } from '../api/outcome.js';
import { Icon, type IconName } from './icons.js';

interface Toast {
  readonly id: number;
  readonly tone: 'good' | 'bad' | 'note';
  readonly text: string;
}

const TOAST_ICONS = { good: 'check', bad: 'warning', note: 'info' } as const satisfies Readonly<Record<Toast['tone'], IconName>>;
const SHOWN_MS = 6_000;
let toasts: readonly Toast[] = [];
let announcement = '';
let lastId = 0;
const listeners = new Set<() => void>();
const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};
const notifyListeners = () => {
  for (const listener of listeners) listener();
};

/** Announces a text to screen readers without showing it. */
export function announce(text: string): void {
  // A live region announces only changes: alter a repeated text invisibly so that it is announced again.
  announcement = announcement === text ? `${text}\u00a0` : text;
  notifyListeners();
}

function show(tone: Toast['tone'], text: string): void {
  const id = ++lastId;
  // A repeated note replaces the earlier one.
  const otherToasts = tone === 'note' ? toasts.filter((toast) => toast.text !== text) : toasts;
  toasts = [...otherToasts.slice(-3), { id, tone, text }];
  // Failures stay until they are dismissed.
  if (tone !== 'bad') window.setTimeout(() => dismiss(id), SHOWN_MS);
  announce(text);
}

function dismiss(id: number): void {
  toasts = toasts.filter((toast) => toast.id !== id);
  notifyListeners();
}

/** Reports a completed action. */
export const toastSuccess = (text: string): void => show('good', text);
/** Shows information, such as why a button is disabled. */
export const toastInfo = (text: string): void => show('note', text);
/** Reports a failure with its message and code, until it is dismissed. */
export const toastFailure = ({ text, code }: Failure): void => show('bad', `${text} (${code})`);

export function Toasts() {
  const shownToasts = useSyncExternalStore(subscribe, () => toasts);
  const text = useSyncExternalStore(subscribe, () => announcement);
  return (
    <>
      <div className="visually-hidden" role="status" aria-live="polite">
        {text}
      </div>
      {shownToasts.length === 0 ? null : (
        <section className="toasts" aria-label="Notifications">
          {shownToasts.map(({ id, tone, text: message }) => (
            <div key={id} className="toast" data-tone={tone}>
              <Icon name={TOAST_ICONS[tone]} />
              <span className="toast-text">{message}</span>
              <button type="button" className="copy-button" aria-label="Dismiss" onClick={() => dismiss(id)}>
                <Icon name="cross" />
              </button>
            </div>
          ))}
        </section>
      )}
    </>
  );
}
