/** Short messages about what was done: to be seen for a while, and read aloud. */
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
let spoken = '';
let lastId = 0;
const listeners = new Set<() => void>();
const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};
const tell = () => {
  for (const listener of listeners) listener();
};

/** Said to those who do not see the page; nothing is shown. */
export function announce(text: string): void {
  // The same words twice are said twice.
  spoken = spoken === text ? `${text}\u00a0` : text;
  tell();
}

function show(tone: Toast['tone'], text: string): void {
  const id = ++lastId;
  // The same note again takes the place of the one before.
  const others = tone === 'note' ? toasts.filter((toast) => toast.text !== text) : toasts;
  toasts = [...others.slice(-3), { id, tone, text }];
  // What went wrong stays until it is put away.
  if (tone !== 'bad') window.setTimeout(() => dismiss(id), SHOWN_MS);
  announce(text);
}

function dismiss(id: number): void {
  toasts = toasts.filter((toast) => toast.id !== id);
  tell();
}

/** Something was done. */
export const toastDone = (text: string): void => show('good', text);
/** Something that is to be known, such as why a button is off. */
export const toastNote = (text: string): void => show('note', text);
/** Something failed: its words and its code stay until they are put away. */
export const toastFailure = ({ text, code }: Failure): void => show('bad', `${text} (${code})`);

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  const text = useSyncExternalStore(subscribe, () => spoken);
  return (
    <>
      <div className="visually-hidden" role="status" aria-live="polite">
        {text}
      </div>
      {shown.length === 0 ? null : (
        <section className="toasts" aria-label="What was done and what failed">
          {shown.map(({ id, tone, text: words }) => (
            <div key={id} className="toast" data-tone={tone}>
              <Icon name={TOAST_ICONS[tone]} />
              <span className="toast-text">{words}</span>
              <button type="button" className="copy-button" aria-label="Put this message away" onClick={() => dismiss(id)}>
                <Icon name="cross" />
              </button>
            </div>
          ))}
        </section>
      )}
    </>
  );
}
