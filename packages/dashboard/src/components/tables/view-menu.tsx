/** Menu of the saved views of a page: open one, save the current filters, delete one. */
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { parseSearch, stringifySearch } from '../../search-parameters.js';
import { ConfirmDialog } from '../dialogs.js';
import { Icon } from '../icons.js';
import { MenuButton } from '../menus/menu-button.js';
import { toastSuccess } from '../toasts.js';
import { addView, changeViews, removeView, useSavedViews } from './saved-views.js';

export interface ViewMenuProps {
  /** Whether any filter is set. */
  readonly isFiltered: boolean;
}

export function ViewMenu({ isFiltered }: ViewMenuProps) {
  const id = useId();
  const navigate = useNavigate();
  const location = useRouterState({ select: (state) => state.location });
  const allViews = useSavedViews();
  const [isNaming, setIsNaming] = useState(false);
  const [name, setName] = useState('');
  const [, , , page = ''] = location.pathname.split('/');
  const views = allViews.filter((view) => view.page === page);
  if (!isFiltered && views.length === 0) return null;
  const currentSearch = stringifySearch(location.search);
  const openView = views.find(({ search }) => search === currentSearch);
  return (
    <>
      <MenuButton
        className="button button-quiet"
        align="start"
        sections={[
          {
            entries: views.map((view) => ({
              text: view.name,
              onSelect: () => void navigate({ to: '.', search: parseSearch(view.search), replace: false }),
            })),
          },
          {
            entries: [
              ...(isFiltered && openView === undefined ? [{ text: 'Save this view', onSelect: () => setIsNaming(true) }] : []),
              ...(openView === undefined
                ? []
                : [
                    {
                      text: `Delete view ${openView.name}`,
                      onSelect: () => changeViews((stored) => removeView(stored, openView)),
                    },
                  ]),
            ],
          },
        ]}
      >
        {openView?.name ?? 'Views'}
        <Icon name="down" />
      </MenuButton>
      <ConfirmDialog
        title="Save this view"
        open={isNaming}
        onClose={() => setIsNaming(false)}
        confirmText="Save view"
        disabled={name.trim() === ''}
        onConfirm={async () => {
          changeViews((stored) => addView(stored, { page, name, search: currentSearch }));
          toastSuccess(`Saved view ${name.trim()}`);
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
