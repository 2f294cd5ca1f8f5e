/** The form of an object with a name, and the columns that tables of such objects share. */
import { type ReactNode, useState } from 'react';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextField } from '../../components/fields.js';
import { StatusBadge } from '../../components/status-badge.js';
import type { Column } from '../../components/tables/data-table.js';

export interface NamedObject {
  readonly name: string;
}

/** An open dialog with the form. */
export interface NamedDialog<Row extends NamedObject> {
  /** Name of one object, such as `rule`. */
  readonly objectName: string;
  /** The edited object; null for a new one. */
  readonly row: Row | null;
  /** Returns the URL of an object. */
  readonly urlOf: (name: string) => string;
  readonly onClose: () => void;
}

export const NAME_COLUMN: Column<NamedObject> = {
  id: 'name',
  header: 'Name',
  width: 'minmax(0, 1fr)',
  cell: ({ name }) => (
    <div className="clip" title={name}>
      {name}
    </div>
  ),
};

export const STATE_COLUMN: Column<{ readonly enabled: boolean }> = {
  id: 'enabled',
  header: 'State',
  width: '112px',
  shownFrom: 'medium',
  cell: ({ enabled }) =>
    enabled ? <StatusBadge tone="good">Enabled</StatusBadge> : <StatusBadge tone="quiet">Disabled</StatusBadge>,
};

export interface NamedFormProps<Row extends NamedObject> {
  readonly dialog: NamedDialog<Row>;
  /** Body of the request, without the name and the state. */
  readonly body: object;
  /** Whether the object can be disabled instead of deleted. */
  readonly hasState?: boolean;
  /** Whether the fields below the name are incomplete. */
  readonly disabled?: boolean;
  readonly onSaved?: (saved: Row) => void;
  readonly children: ReactNode;
}

export function NamedForm<Row extends NamedObject & { readonly enabled?: boolean }>(props: NamedFormProps<Row>) {
  const { dialog, body, hasState = false, disabled = false, onSaved, children } = props;
  const { objectName, row, urlOf, onClose } = dialog;
  const change = useChange();
  const [text, setName] = useState(row?.name ?? '');
  const [enabled, setEnabled] = useState(row?.enabled ?? true);
  const name = text.trim();
  return (
    <ConfirmDialog
      title={row ? `Edit ${objectName} ${row.name}` : `New ${objectName}`}
      open
      onClose={onClose}
      confirmText={`Save ${objectName}`}
      disabled={name === '' || disabled}
      onConfirm={async () => {
        const outcome = await change<Row>({
          method: 'PUT',
          url: urlOf(name),
          body: hasState ? { ...body, enabled } : body,
          topics: ['settings'],
          successText: `Saved ${objectName} ${name}`,
        });
        if (outcome.ok) onSaved?.(outcome.value);
        return outcome;
      }}
    >
      <TextField label="Name" value={text} onChange={setName} disabled={row !== null} />
      {children}
      {hasState ? (
        <label className="line">
          <input type="checkbox" checked={enabled} onChange={(event) => setEnabled(event.target.checked)} />
          <span>Enabled</span>
        </label>
      ) : null}
    </ConfirmDialog>
  );
}
