/** URL groups: endpoints that a message is published to together. */
import { useId, useState } from 'react';
import { path } from '../../api/client.js';
import { useMay } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { useWholeList } from '../../api/whole-list.js';
import type { Column } from '../../components/data-table.js';
import { DeedButton } from '../../components/deed-button.js';
import { ConfirmDialog, DialogClose, DialogWindow } from '../../components/dialogs.js';
import { countText, quantity } from '../../components/formats.js';
import { WholeTable } from '../../components/list-table.js';
import { EmptyState, FailureNotice, Skeleton } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import type { GroupEndpoint, GroupRow } from './shapes.js';

type Asked = { readonly kind: 'add' } | { readonly kind: 'open' | 'delete'; readonly name: string };

const idOf = ({ name }: GroupRow): string => name;

export function UrlGroups() {
  const heading = useId();
  const { readOnly } = useMay();
  const change = useChange();
  const [asked, setAsked] = useState<Asked | null>(null);
  const close = () => setAsked(null);
  const { data, dataUpdatedAt, error, isPending, refetch } = useApi<readonly GroupRow[]>({
    topic: 'queues',
    name: 'url-groups',
    url: '/v2/topics',
  });
  const list = useWholeList({ topic: 'queues', rows: data, readAt: dataUpdatedAt, idOf });
  const chosen = asked !== null && 'name' in asked ? data?.find(({ name }) => name === asked.name) : undefined;
  const columns: readonly Column<GroupRow>[] = [
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
      header: 'They are',
      width: 'minmax(0, 4fr)',
      from: 'medium',
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
      header: 'Changed',
      width: '118px',
      from: 'wide',
      cell: ({ updatedAt }) => <TimeText unixMs={updatedAt} />,
    },
    {
      id: 'open',
      header: 'Open',
      width: '104px',
      align: 'right',
      cell: ({ name }) => (
        <button
          type="button"
          className="button button-small"
          aria-label={`Endpoints of ${name}`}
          onClick={() => setAsked({ kind: 'open', name })}
        >
          Endpoints
        </button>
      ),
    },
  ];
  return (
    <section className="queues-section" aria-labelledby={heading}>
      <div className="section-head">
        <h2 id={heading}>URL groups</h2>
        <DeedButton off={readOnly} onClick={() => setAsked({ kind: 'add' })}>
          New URL group
        </DeedButton>
      </div>
      {isPending ? (
        <Skeleton lines={3} />
      ) : error && !data ? (
        <FailureNotice failure={error} onRetry={() => void refetch()} />
      ) : list.rows.length === 0 ? (
        <div className="table">
          <EmptyState title="There are no URL groups">
            A message that is published to a group goes to each of its endpoints, as a message of its own.
          </EmptyState>
        </div>
      ) : (
        <WholeTable
          label="URL groups"
          what="URL groups"
          list={list}
          columns={columns}
          idOf={idOf}
          onOpen={({ name }) => setAsked({ kind: 'open', name })}
        />
      )}
      {asked?.kind === 'add' ? <NewGroup onClose={close} /> : null}
      {asked?.kind === 'open' && chosen ? (
        <GroupWindow group={chosen} onClose={close} onDelete={() => setAsked({ kind: 'delete', name: chosen.name })} />
      ) : null}
      {asked?.kind === 'delete' && chosen ? (
        <ConfirmDialog
          title={`Delete ${chosen.name}`}
          open
          onClose={close}
          confirmText={`Delete the group of ${quantity(chosen.endpoints.length, 'endpoint')}`}
          danger
          onConfirm={() =>
            change({
              method: 'DELETE',
              url: path`/v2/topics/${chosen.name}`,
              topics: ['queues'],
              done: `The URL group ${chosen.name} is deleted`,
            })
          }
        >
          <p>Nothing can be published to it any more. Messages that were published to it go on. This cannot be undone.</p>
        </ConfirmDialog>
      ) : null}
    </section>
  );
}

const endpointBody = (url: string, name: string) => ({
  endpoints: [{ url: url.trim(), ...(name.trim() === '' ? {} : { name: name.trim() }) }],
});

function NewGroup({ onClose }: { readonly onClose: () => void }) {
  const ids = { group: useId(), url: useId(), name: useId() };
  const [group, setGroup] = useState('');
  const [url, setUrl] = useState('');
  const [name, setName] = useState('');
  const change = useChange();
  return (
    <ConfirmDialog
      title="New URL group"
      open
      onClose={onClose}
      confirmText="Create group"
      disabled={group.trim() === '' || url.trim() === ''}
      onConfirm={() =>
        change({
          method: 'POST',
          url: path`/v2/topics/${group.trim()}/endpoints`,
          body: endpointBody(url, name),
          topics: ['queues'],
          done: `The URL group ${group.trim()} is there`,
        })
      }
    >
      <p>It begins with one endpoint; more are added in its window.</p>
      <div className="field">
        <label className="field-label" htmlFor={ids.group}>
          Name of the group
        </label>
        <input id={ids.group} className="input mono" value={group} onChange={(event) => setGroup(event.target.value)} />
      </div>
      <div className="field">
        <label className="field-label" htmlFor={ids.url}>
          URL of the first endpoint
        </label>
        <input id={ids.url} className="input mono" value={url} onChange={(event) => setUrl(event.target.value)} />
      </div>
      <div className="field">
        <label className="field-label" htmlFor={ids.name}>
          Name of the endpoint; may be empty
        </label>
        <input id={ids.name} className="input" value={name} onChange={(event) => setName(event.target.value)} />
      </div>
    </ConfirmDialog>
  );
}

interface GroupWindowProps {
  readonly group: GroupRow;
  readonly onClose: () => void;
  readonly onDelete: () => void;
}

function GroupWindow({ group, onClose, onDelete }: GroupWindowProps) {
  const { readOnly } = useMay();
  const change = useChange();
  const ids = { url: useId(), name: useId() };
  const [url, setUrl] = useState('');
  const [name, setName] = useState('');
  const last = group.endpoints.length === 1;
  const remove = (endpoint: GroupEndpoint) =>
    void change({
      method: 'DELETE',
      url: path`/v2/topics/${group.name}/endpoints`,
      body: { endpoints: [{ url: endpoint.url }] },
      topics: ['queues'],
      done: `${endpoint.name ?? endpoint.url} is no endpoint of ${group.name} any more`,
      tellFailure: true,
    });
  const add = async () => {
    const outcome = await change({
      method: 'POST',
      url: path`/v2/topics/${group.name}/endpoints`,
      body: endpointBody(url, name),
      topics: ['queues'],
      done: `${group.name} has the endpoint ${name.trim() === '' ? url.trim() : name.trim()}`,
      tellFailure: true,
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
          <DeedButton look="danger" off={readOnly} onClick={onDelete}>
            Delete group
          </DeedButton>
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
              <DeedButton
                small
                aria-label={`Remove ${endpoint.name ?? endpoint.url}`}
                off={readOnly ?? (last ? 'A group without endpoints is no more: delete the group instead' : undefined)}
                onClick={() => remove(endpoint)}
              >
                Remove
              </DeedButton>
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
          <div className="field">
            <label className="field-label" htmlFor={ids.url}>
              URL of another endpoint
            </label>
            <input id={ids.url} className="input mono" value={url} onChange={(event) => setUrl(event.target.value)} />
          </div>
          <div className="field">
            <label className="field-label" htmlFor={ids.name}>
              Its name; may be empty
            </label>
            <input id={ids.name} className="input" value={name} onChange={(event) => setName(event.target.value)} />
          </div>
          <div className="line">
            <DeedButton submits off={readOnly ?? (url.trim() === '' ? 'Fill in its URL first' : undefined)}>
              Add endpoint
            </DeedButton>
          </div>
        </form>
      </div>
    </DialogWindow>
  );
}
