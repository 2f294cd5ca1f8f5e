/** Lists and edits URL groups. A message published to a group is sent to each of its endpoints. */
import { useId, useState } from 'react';
import { path } from '../../api/client.js';
import { useCompleteList } from '../../api/complete-list.js';
import { usePermissions } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { ConfirmDialog, DialogClose, DialogWindow } from '../../components/dialogs.js';
import { TextField } from '../../components/fields.js';
import { NotLoaded } from '../../components/loading/loaded.js';
import { EmptyState } from '../../components/states.js';
import type { Column } from '../../components/tables/data-table.js';
import { CompleteTable } from '../../components/tables/list-table.js';
import { countText, quantity } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import type { UrlGroupEndpoint, UrlGroupRow } from './shapes.js';

type OpenDialog = { readonly kind: 'new' } | { readonly kind: 'edit' | 'delete'; readonly name: string };

const idOf = ({ name }: UrlGroupRow): string => name;

export function UrlGroups() {
  const heading = useId();
  const { readOnlyReason } = usePermissions();
  const change = useChange();
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const groups = useApi<readonly UrlGroupRow[]>({
    topic: 'queues',
    name: 'url-groups',
    url: '/v2/topics',
  });
  const list = useCompleteList({ topic: 'queues', rows: groups.data, readAt: groups.dataUpdatedAt, idOf });
  const selected = dialog !== null && 'name' in dialog ? groups.data?.find(({ name }) => name === dialog.name) : undefined;
  const columns: readonly Column<UrlGroupRow>[] = [
    {
      id: 'name',
      header: 'URL group',
      width: 'minmax(0, 2fr)',
      cell: ({ name }) => (
        <div className="clip mono" title={name}>
          {name}
        </div>
      ),
    },
    { id: 'count', header: 'Endpoints', width: '92px', align: 'right', cell: ({ endpoints }) => countText(endpoints.length) },
    {
      id: 'endpoints',
      header: 'Names and URLs',
      width: 'minmax(0, 4fr)',
      shownFrom: 'medium',
      cell: ({ endpoints }) => {
        const text = endpoints.map(({ name, url }) => name ?? url).join(', ');
        return (
          <div className="clip" title={text}>
            {text}
          </div>
        );
      },
    },
    {
      id: 'updated',
      header: 'Updated',
      width: '118px',
      shownFrom: 'wide',
      cell: ({ updatedAt }) => <TimeText unixMs={updatedAt} />,
    },
    {
      id: 'actions',
      header: 'Actions',
      width: '84px',
      align: 'right',
      cell: ({ name }) => (
        <button
          type="button"
          className="button button-small"
          aria-label={`Edit URL group ${name}`}
          onClick={() => setDialog({ kind: 'edit', name })}
        >
          Edit
        </button>
      ),
    },
  ];
  return (
    <section className="queues-section" aria-labelledby={heading}>
      <div className="section-head">
        <h2 id={heading}>URL groups</h2>
        <ActionButton disabledReason={readOnlyReason} onClick={() => setDialog({ kind: 'new' })}>
          New URL group
        </ActionButton>
      </div>
      {groups.data === undefined ? (
        <NotLoaded query={groups} />
      ) : list.rows.length === 0 ? (
        <div className="table">
          <EmptyState title="No URL groups">
            A message that is published to a URL group is sent to each of its endpoints as a separate message.
          </EmptyState>
        </div>
      ) : (
        <CompleteTable
          label="URL groups"
          rowsName="URL groups"
          list={list}
          columns={columns}
          idOf={idOf}
          onOpen={({ name }) => setDialog({ kind: 'edit', name })}
        />
      )}
      {dialog?.kind === 'new' ? <NewUrlGroupDialog onClose={close} /> : null}
      {dialog?.kind === 'edit' && selected ? (
        <UrlGroupDialog group={selected} onClose={close} onDelete={() => setDialog({ kind: 'delete', name: selected.name })} />
      ) : null}
      {dialog?.kind === 'delete' && selected ? (
        <ConfirmDialog
          title={`Delete URL group ${selected.name}?`}
          open
          onClose={close}
          confirmText={`Delete group with ${quantity(selected.endpoints.length, 'endpoint')}`}
          danger
          onConfirm={() =>
            change({
              method: 'DELETE',
              url: path`/v2/topics/${selected.name}`,
              topics: ['queues'],
              successText: `Deleted URL group ${selected.name}`,
            })
          }
        >
          <p>
            Messages can no longer be published to this group. Messages that were already published are still delivered. This
            cannot be undone.
          </p>
        </ConfirmDialog>
      ) : null}
    </section>
  );
}

const endpointBody = (url: string, name: string) => ({
  endpoints: [{ url: url.trim(), ...(name.trim() === '' ? {} : { name: name.trim() }) }],
});

function NewUrlGroupDialog({ onClose }: { readonly onClose: () => void }) {
  const [groupName, setGroupName] = useState('');
  const [url, setUrl] = useState('');
  const [name, setName] = useState('');
  const change = useChange();
  return (
    <ConfirmDialog
      title="New URL group"
      open
      onClose={onClose}
      confirmText="Create group"
      disabled={groupName.trim() === '' || url.trim() === ''}
      onConfirm={() =>
        change({
          method: 'POST',
          url: path`/v2/topics/${groupName.trim()}/endpoints`,
          body: endpointBody(url, name),
          topics: ['queues'],
          successText: `Created URL group ${groupName.trim()}`,
        })
      }
    >
      <p>A group starts with one endpoint. To add more, open the group.</p>
      <TextField label="Group name" mono value={groupName} onChange={setGroupName} />
      <TextField label="First endpoint URL" mono value={url} onChange={setUrl} />
      <TextField label="Endpoint name (optional)" value={name} onChange={setName} />
    </ConfirmDialog>
  );
}

interface UrlGroupDialogProps {
  readonly group: UrlGroupRow;
  readonly onClose: () => void;
  readonly onDelete: () => void;
}

function UrlGroupDialog({ group, onClose, onDelete }: UrlGroupDialogProps) {
  const { readOnlyReason } = usePermissions();
  const change = useChange();
  const [url, setUrl] = useState('');
  const [name, setName] = useState('');
  const isLastEndpoint = group.endpoints.length === 1;
  const remove = (endpoint: UrlGroupEndpoint) =>
    void change({
      method: 'DELETE',
      url: path`/v2/topics/${group.name}/endpoints`,
      body: { endpoints: [{ url: endpoint.url }] },
      topics: ['queues'],
      successText: `Removed ${endpoint.name ?? endpoint.url} from ${group.name}`,
      showFailure: true,
    });
  const add = async () => {
    const outcome = await change({
      method: 'POST',
      url: path`/v2/topics/${group.name}/endpoints`,
      body: endpointBody(url, name),
      topics: ['queues'],
      successText: `Added ${name.trim() === '' ? url.trim() : name.trim()} to ${group.name}`,
      showFailure: true,
    });
    if (!outcome.ok) return;
    setUrl('');
    setName('');
  };
  return (
    <DialogWindow
      title={`URL group ${group.name}`}
      open
      onClose={onClose}
      wide
      actions={
        <>
          <ActionButton variant="danger" disabledReason={readOnlyReason} onClick={onDelete}>
            Delete group
          </ActionButton>
          <DialogClose>Close</DialogClose>
        </>
      }
    >
      <div className="stack">
        <ul className="endpoints" aria-label="Endpoints">
          {group.endpoints.map((endpoint) => (
            <li key={endpoint.url}>
              <span className="endpoint-url">
                {endpoint.name === undefined ? null : <strong>{endpoint.name} </strong>}
                <span className="mono">{endpoint.url}</span>
              </span>
              <ActionButton
                small
                aria-label={`Remove ${endpoint.name ?? endpoint.url}`}
                disabledReason={
                  readOnlyReason ?? (isLastEndpoint ? 'A group needs at least one endpoint; delete the group instead' : undefined)
                }
                onClick={() => remove(endpoint)}
              >
                Remove
              </ActionButton>
            </li>
          ))}
        </ul>
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void add();
          }}
        >
          <TextField label="New endpoint URL" mono value={url} onChange={setUrl} />
          <TextField label="Name (optional)" value={name} onChange={setName} />
          <div className="line">
            <ActionButton submits disabledReason={readOnlyReason ?? (url.trim() === '' ? 'Enter a URL first' : undefined)}>
              Add endpoint
            </ActionButton>
          </div>
        </form>
      </div>
    </DialogWindow>
  );
}
