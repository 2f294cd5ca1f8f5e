/** Keys that work on every page: `/` to search, Ctrl-K or Cmd-K for the command palette, `?` for help. */
import { useEffect, useState } from 'react';
import { DialogClose, DialogWindow } from '../components/dialogs.js';
import { loadAfterPage } from '../components/loading/load-after-page.js';

const Palette = loadAfterPage(() => import('./palette/palette.js'));

type OpenOverlay = 'palette' | 'help' | null;

export const KEYS: readonly (readonly [keys: string, meaning: string])[] = [
  ['/', 'Search this page'],
  ['Ctrl K or Cmd K', 'Go to a page, a run or a saved view'],
  ['?', 'Show keyboard shortcuts'],
  ['j k, arrows, Home, End', 'Move to another row of a list'],
  ['Enter', 'Open the row'],
  ['Ctrl or Cmd and click, middle button', 'Open the row in a new tab'],
  ['Space', 'Select the row; with Shift, select a range'],
  ['Escape', 'Close popups and dialogs'],
];

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null;

/** Focuses the search field of the page. Returns whether the page has one. */
function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>('#page input[type="search"]');
  field?.focus();
  field?.select();
  return field !== null;
}

export function Shortcuts() {
  const [open, setOpen] = useState<OpenOverlay>(null);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey) return;
      const hasModifier = event.ctrlKey || event.metaKey;
      if (hasModifier && event.key.toLowerCase() === 'k') setOpen('palette');
      else if (hasModifier || isTyping(event.target) || document.querySelector('[role="dialog"], [role="menu"]') !== null) return;
      else if (event.key === '?') setOpen('help');
      else if (event.key === '/') {
        if (!focusSearch()) setOpen('palette');
      } else return;
      event.preventDefault();
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, []);
  const close = () => setOpen(null);
  return (
    <>
      {open === 'palette' ? <Palette onClose={close} /> : null}
      <DialogWindow title="Keyboard shortcuts" open={open === 'help'} onClose={close} actions={<DialogClose>Close</DialogClose>}>
        <dl className="keys">
          {KEYS.map(([keys, meaning]) => (
            <div key={keys}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
      </DialogWindow>
    </>
  );
}
