/** A button that opens a menu. Its popup is loaded after the page. */
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react';
import { loadAfterPage } from '../loading/load-after-page.js';
import type { MenuSection } from './menu-popup.js';

const MenuPopup = loadAfterPage(() => import('./menu-popup.js'));

export interface MenuButtonProps {
  /** Accessible name, if the button shows only an icon. */
  readonly label?: string;
  readonly className: string;
  readonly align?: 'start' | 'end';
  readonly sections: readonly MenuSection[];
  readonly children: ReactNode;
}

export function MenuButton({ label, className, align = 'end', sections, children }: MenuButtonProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const [openState, setOpenState] = useState<'closed' | 'by-pointer' | 'by-key'>('closed');
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    setOpenState('by-key');
  };
  return (
    <>
      <button
        type="button"
        id={id}
        ref={button}
        className={className}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={openState !== 'closed'}
        // A click without a pointer comes from the keyboard.
        onClick={({ detail }) => setOpenState(detail === 0 ? 'by-key' : 'by-pointer')}
        onKeyDown={onKeyDown}
      >
        {children}
      </button>
      {openState === 'closed' ? null : (
        <MenuPopup
          button={button}
          align={align}
          sections={sections}
          startsAtFirst={openState === 'by-key'}
          onClose={() => setOpenState('closed')}
        />
      )}
    </>
  );
}
