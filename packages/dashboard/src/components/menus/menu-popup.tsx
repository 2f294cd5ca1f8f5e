/** The popup of a `MenuButton`. Arrow keys and letters move through the entries; closing returns the focus to the button. */
import { Menu } from '@base-ui/react/menu';
import { type ReactNode, type RefObject, useRef } from 'react';
import { Icon, type IconName } from '../icons.js';
import { useOpenHref } from '../tables/row-link.js';

export interface MenuEntry {
  readonly text: string;
  readonly icon?: IconName;
  /** Shown after the text. */
  readonly note?: string;
  /** Whether this option is selected; absent if the entry is an action. */
  readonly selected?: boolean;
  /** Why the action is disabled; undefined if it is enabled. */
  readonly disabledReason?: string | undefined;
  /** A path of the dashboard, or a page outside of it, which opens in a new tab. */
  readonly href?: string;
  readonly onSelect?: () => void;
}

/** Entries between two separators. */
export interface MenuSection {
  readonly heading?: string;
  readonly entries: readonly MenuEntry[];
}

interface MenuPopupProps {
  readonly align: 'start' | 'end';
  readonly sections: readonly MenuSection[];
  readonly button: RefObject<HTMLButtonElement | null>;
  /** Whether the first entry receives focus, as for a menu that is opened with the keyboard. */
  readonly startsAtFirst: boolean;
  readonly onClose: () => void;
}

function Entry({ entry }: { readonly entry: MenuEntry }): ReactNode {
  const { text, icon, note, selected, disabledReason, href, onSelect } = entry;
  const openHref = useOpenHref();
  const content = (
    <>
      {icon === undefined ? null : <Icon name={icon} />}
      <span className="clip">{text}</span>
      {note === undefined ? null : <span className="muted nowrap">{note}</span>}
    </>
  );
  if (selected !== undefined)
    return (
      <Menu.RadioItem value={entry} className="popup-item" closeOnClick onClick={onSelect}>
        {content}
        <Menu.RadioItemIndicator keepMounted className="popup-check">
          <Icon name="check" />
        </Menu.RadioItemIndicator>
      </Menu.RadioItem>
    );
  if (href !== undefined)
    return (
      <Menu.LinkItem
        className="popup-item"
        href={href}
        closeOnClick
        {...(href.startsWith('/q/')
          ? {
              onClick: (event) => {
                event.preventDefault();
                openHref(href, event);
              },
            }
          : { target: '_blank', rel: 'noreferrer' })}
      >
        {content}
      </Menu.LinkItem>
    );
  return (
    <Menu.Item className="popup-item" disabled={disabledReason !== undefined} title={disabledReason} onClick={onSelect}>
      {content}
    </Menu.Item>
  );
}

const Entries = ({ entries }: Pick<MenuSection, 'entries'>) => (
  <Menu.RadioGroup value={entries.find(({ selected }) => selected) ?? null}>
    {entries.map((entry, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: two instances can have the same name, and entries do not move
      <Entry key={index} entry={entry} />
    ))}
  </Menu.RadioGroup>
);

export default function MenuPopup({ button, align, sections, startsAtFirst, onClose }: MenuPopupProps) {
  const shouldFocusFirst = useRef(startsAtFirst);
  const shownSections = sections.filter(({ entries }) => entries.length > 0);
  return (
    <Menu.Root open onOpenChange={(open) => (open ? undefined : onClose())}>
      <Menu.Portal>
        <Menu.Positioner anchor={button} sideOffset={4} align={align} className="popup-positioner">
          <Menu.Popup
            className="popup"
            aria-labelledby={button.current?.id}
            onFocus={({ target, currentTarget }) => {
              if (target !== currentTarget || !shouldFocusFirst.current) return;
              shouldFocusFirst.current = false;
              currentTarget.querySelector<HTMLElement>('.popup-item')?.focus();
            }}
            finalFocus={button}
          >
            {shownSections.map(({ heading, entries }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: sections do not move
              <Menu.Group key={index}>
                {index === 0 ? null : <Menu.Separator className="popup-separator" />}
                {heading === undefined ? null : <Menu.GroupLabel className="nav-heading">{heading}</Menu.GroupLabel>}
                <Entries entries={entries} />
              </Menu.Group>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
