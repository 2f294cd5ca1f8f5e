/** Menu of the saved views of a page: open one, save the current filters, delete one. */
import { Menu } from '@base-ui/react/menu';
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { parseSearch, stringifySearch } from '../../search-parameters.js';
import { ConfirmDialog } from '../dialogs.js';
import { Icon } from '../icons.js';
import { toastDone } from '../toasts.js';
import { saveViews, useSavedViews, withoutView, withView } from './saved-views.js';

export interface ViewMenuProps {
  /** Whether any filter is set. */
  readonly any: boolean;
}

export function ViewMenu({ any }: ViewMenuProps) {
  const id = useId();
  const navigate = useNavigate();
  const location = useRouterState({ select: (state) => state.location });
  const all = useSavedViews();
  const [naming, setNaming] = useState(false);
  const [name, setName] = useState('');
  const [, , , page = ''] = location.pathname.split('/');
  const views = all.filter((view) => view.page === page);
  if (!any && views.length === 0) return null;
  const current = stringifySearch(location.search);
  const open = views.find(({ search }) => search === current);
  return (
    <>
      <Menu.Root>
        <Menu.Trigger className="button button-quiet">
          {open?.name ?? 'Views'}
          <Icon name="down" />
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner sideOffset={4} align="end" className="tooltip-positioner">
            <Menu.Popup className="popup">
              {views.map((view) => (
                <Menu.Item
                  key={view.name}
                  className="popup-item"
                  onClick={() => void navigate({ to: '.', search: parseSearch(view.search), replace: false })}
                >
                  <span className="clip">{view.name}</span>
                </Menu.Item>
              ))}
              {views.length === 0 ? null : <Menu.Separator className="popup-separator" />}
              {any && open === undefined ? (
                <Menu.Item className="popup-item" onClick={() => setNaming(true)}>
                  Save this view
                </Menu.Item>
              ) : null}
              {open === undefined ? null : (
                <Menu.Item className="popup-item" onClick={() => saveViews(withoutView(all, open))}>
                  Delete view {open.name}
                </Menu.Item>
              )}
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
      <ConfirmDialog
        title="Save this view"
        open={naming}
        onClose={() => setNaming(false)}
        confirmText="Save view"
        disabled={name.trim() === ''}
        onConfirm={async () => {
          saveViews(withView(all, { page, name, search: current }));
          toastDone(`Saved view ${name.trim()}`);
          setName('');
          return { ok: true, value: null };
        }}
      >
        <div className="field">
          <label className="field-label" htmlFor={id}>
            Name
          </label>
          <input id={id} className="input" value={name} onChange={(event) => setName(event.target.value)} />
          <span className="field-hint">
            The view is stored in this browser, for all instances. To share it, share the address of the page.
          </span>
        </div>
      </ConfirmDialog>
    </>
  );
}
