/** A section of the page: a table of objects with names, and the dialogs that create, change and delete them. */
import { type ReactNode, useId, useState } from 'react';
import { path } from '../../api/client.js';
import { useCompleteList } from '../../api/complete-list.js';
import { usePermissions } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { NotLoaded } from '../../components/loading/loaded.js';
import { EmptyState } from '../../components/states.js';
import type { Column } from '../../components/tables/data-table.js';
import { CompleteTable } from '../../components/tables/list-table.js';
import { NAME_COLUMN, type NamedDialog, type NamedObject } from './named-form.js';

export interface NamedSectionProps<Row extends NamedObject> {
  readonly title: string;
  /** Name of one object, such as `rule`. */
  readonly objectName: string;
  readonly url: string;
  /** Field of the response that contains the rows. */
  readonly field: string;
  /** Columns after the name. */
  readonly columns: readonly Column<Row>[];
  /** Explanation of an empty table. */
  readonly empty: string;
  /** Consequence of a deletion. */
  readonly deletion: string;
  /** Renders the form of the dialog. */
  readonly form: (dialog: NamedDialog<Row>) => ReactNode;
  /** Further actions of a row. */
  readonly actions?: (row: Row) => ReactNode;
}

type OpenDialog<Row> = { readonly kind: 'edit' | 'delete'; readonly row: Row } | { readonly kind: 'new' };

const idOf = ({ name }: NamedObject): string => name;

export function NamedSection<Row extends NamedObject>(props: NamedSectionProps<Row>) {
  const { title, objectName, url, field, columns, empty, deletion, form, actions } = props;
  const heading = useId();
  const { readOnlyReason } = usePermissions();
  const change = useChange();
  const [dialog, setDialog] = useState<OpenDialog<Row> | null>(null);
  const onClose = () => setDialog(null);
  const urlOf = (name: string) => url + path`/${name}`;
  const section = useApi<Readonly<Record<string, readonly Row[]>>>({
    topic: 'settings',
    name: url,
    url,
  });
  const list = useCompleteList({ topic: 'settings', rows: section.data?.[field], readAt: section.dataUpdatedAt, idOf });
  const actionColumn: Column<Row> = {
    id: 'actions',
    header: 'Actions',
    width: actions ? '218px' : '148px',
    align: 'right',
    cell: (row) => (
      <div className="alerts-actions">
        {actions?.(row)}
        <ActionButton
          small
          disabledReason={readOnlyReason}
          aria-label={`Edit ${objectName} ${row.name}`}
          onClick={() => setDialog({ kind: 'edit', row })}
        >
          Edit
        </ActionButton>
        <ActionButton
          small
          variant="danger"
          disabledReason={readOnlyReason}
          aria-label={`Delete ${objectName} ${row.name}`}
          onClick={() => setDialog({ kind: 'delete', row })}
        >
          Delete
        </ActionButton>
      </div>
    ),
  };
  return (
    <section className="alerts-section" aria-labelledby={heading}>
      <div className="section-head">
        <h2 id={heading}>{title}</h2>
        <ActionButton disabledReason={readOnlyReason} onClick={() => setDialog({ kind: 'new' })}>
          {`New ${objectName}`}
        </ActionButton>
      </div>
      {section.data === undefined ? (
        <NotLoaded query={section} />
      ) : list.rows.length === 0 ? (
        <div className="table">
          <EmptyState title={`No ${title.toLowerCase()}`}>{empty}</EmptyState>
        </div>
      ) : (
        <CompleteTable
          label={title}
          rowsName={`${objectName}s`}
          list={list}
          columns={[NAME_COLUMN, ...columns, actionColumn]}
          idOf={idOf}
        />
      )}
      {dialog?.kind === 'new' ? form({ objectName, row: null, urlOf, onClose }) : null}
      {dialog?.kind === 'edit' ? form({ objectName, row: dialog.row, urlOf, onClose }) : null}
      {dialog?.kind === 'delete' ? (
        <ConfirmDialog
          title={`Delete ${objectName} ${dialog.row.name}?`}
          open
          onClose={onClose}
          confirmText={`Delete ${objectName}`}
          danger
          onConfirm={() =>
            change({
              method: 'DELETE',
              url: urlOf(dialog.row.name),
              topics: ['settings'],
              successText: `Deleted ${objectName} ${dialog.row.name}`,
            })
          }
        >
          <p>{deletion} This cannot be undone.</p>
        </ConfirmDialog>
      ) : null}
    </section>
  );
}
