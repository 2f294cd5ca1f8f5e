/** Command palette: pages, actions, saved views, instances, and runs by id. */
import { Dialog } from '@base-ui/react/dialog';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useId, useMemo, useState } from 'react';
import { path } from '../../api/client.js';
import { instancesQuery, useInstanceId } from '../../api/instances.js';
import { useSession } from '../../api/session.js';
import { useOpenHref } from '../../components/tables/row-link.js';
import { savedViews } from '../../components/tables/saved-views.js';
import { NAVIGATION } from '../navigation.js';
import { commandsFor } from './commands.js';
import './palette.css';

const PAGE_START = '/q/$instanceId/';

export default function Palette({ onClose }: { readonly onClose: () => void }) {
  const id = useId();
  const instanceId = useInstanceId();
  const { is_operator: isOperator } = useSession();
  const { data: instances = [] } = useQuery(instancesQuery);
  const open = useOpenHref();
  const [query, setQuery] = useState('');
  const [position, setPosition] = useState(0);
  const sources = useMemo(
    () => ({
      base: path`/q/${instanceId}`,
      pages: NAVIGATION.flatMap(({ entries }) => entries)
        .filter(({ forOperators }) => isOperator || !forOperators)
        .map(({ to, text }) => ({ text, page: to.slice(PAGE_START.length) })),
      instances: instances.filter((instance) => instance.id !== instanceId),
      views: savedViews(),
    }),
    [instanceId, isOperator, instances],
  );
  const commands = commandsFor(query, sources);
  const currentIndex = Math.min(position, commands.length - 1);
  const go = (href: string) => {
    onClose();
    open(href);
  };
  useEffect(() => document.getElementById(`${id}-${currentIndex}`)?.scrollIntoView({ block: 'nearest' }), [id, currentIndex]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setPosition(Math.min(currentIndex + 1, commands.length - 1));
    else if (event.key === 'ArrowUp') setPosition(Math.max(currentIndex - 1, 0));
    else if (event.key === 'Enter') {
      const command = commands[currentIndex];
      if (command !== undefined) go(command.href);
    } else return;
    event.preventDefault();
  };
  return (
    <Dialog.Root open onOpenChange={(next) => (next ? undefined : onClose())}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog palette">
          <Dialog.Title className="visually-hidden">Go to</Dialog.Title>
          <input
            className="input palette-input"
            role="combobox"
            aria-label="Page, action, run id or saved view"
            aria-expanded="true"
            aria-controls={`${id}-list`}
            aria-activedescendant={commands.length === 0 ? undefined : `${id}-${currentIndex}`}
            aria-autocomplete="list"
            autoComplete="off"
            spellCheck={false}
            placeholder="Page, action, run id or saved view"
            value={query}
            onChange={(event) => {
              setQuery(event.target.value);
              setPosition(0);
            }}
            onKeyDown={onKeyDown}
          />
          <div id={`${id}-list`} role="listbox" aria-label="Results" className="palette-list">
            {commands.map((command, index) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
              // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus and names the active option
              <div
                key={command.id}
                id={`${id}-${index}`}
                role="option"
                aria-selected={index === currentIndex}
                className="popup-item palette-item"
                data-highlighted={index === currentIndex ? '' : undefined}
                onPointerMove={() => setPosition(index)}
                onClick={() => go(command.href)}
              >
                <span className="clip">{command.text}</span>
                <span className="field-hint">{command.kind}</span>
              </div>
            ))}
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
