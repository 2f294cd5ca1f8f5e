/** Tokens of the instance with a name, scopes and an end: list, create, revoke. */
import { useId, useState } from 'react';
import type { TokenEntry } from '../../../../everstep/src/contract/management.js';
import { path } from '../../api/client.js';
import { useMay, useQueueId } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { Card } from '../../components/card.js';
import { CopyId } from '../../components/copy-id.js';
import { type Column, DataTable } from '../../components/data-table.js';
import { DeedButton } from '../../components/deed-button.js';
import { ConfirmDialog, DialogClose, DialogWindow } from '../../components/dialogs.js';
import { EmptyState, FailureNotice, Skeleton } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';

type Scope = TokenEntry['scopes'][number];
const SCOPES: Readonly<Record<Scope, string>> = {
  trigger: 'start runs and publish messages',
  notify: 'notify events',
  'read-metadata': 'read, without payloads, results and headers',
  read: 'read',
  write: 'everything',
  connect: 'connections of workers',
};
const SCOPE_NAMES = Object.keys(SCOPES).filter((name): name is Scope => name in SCOPES);
const DAY_S = 86_400;
const ENDS = { '7': 'in 7 days', '30': 'in 30 days', '90': 'in 90 days', '365': 'in a year', '': 'never' } as const;

const ended = ({ revocation_time: revoked, expiration_time: end }: TokenEntry): boolean =>
  revoked !== undefined || (end !== undefined && end * 1000 <= Date.now());

export function NamedTokens() {
  const queueId = useQueueId();
  const { write, readOnly } = useMay();
  const [creating, setCreating] = useState(false);
  const [made, setMade] = useState<TokenEntry | null>(null);
  const [revoking, setRevoking] = useState<TokenEntry | null>(null);
  const change = useChange();
  const { data, error, isPending, refetch } = useApi<readonly TokenEntry[]>({
    topic: 'account',
    name: 'tokens',
    url: path`/v2/queue/tokens/${queueId}`,
    enabled: write,
  });
  const named = data?.filter(({ is_permanent: isPermanent }) => !isPermanent) ?? [];
  const columns: readonly Column<TokenEntry>[] = [
    {
      id: 'name',
      header: 'Name',
      width: 'minmax(0, 3fr)',
      cell: ({ name, scopes }) => (
        <>
          <div className="clip" title={name}>
            {name}
          </div>
          <div className="muted clip">{scopes.join(', ')}</div>
        </>
      ),
    },
    {
      id: 'used',
      header: 'Last use',
      width: '118px',
      from: 'medium',
      cell: ({ last_use_time: at }) =>
        at === undefined ? <span className="muted">never</span> : <TimeText unixMs={at * 1000} />,
    },
    {
      id: 'end',
      header: 'Expires',
      width: '118px',
      cell: ({ expiration_time: at }) =>
        at === undefined ? <span className="muted">never</span> : <TimeText unixMs={at * 1000} />,
    },
    {
      id: 'revoke',
      header: 'Revoke',
      width: '92px',
      align: 'right',
      cell: (token) =>
        ended(token) ? (
          <span className="muted">{token.revocation_time === undefined ? 'Expired' : 'Revoked'}</span>
        ) : (
          <DeedButton look="danger" small off={readOnly} aria-label={`Revoke ${token.name}`} onClick={() => setRevoking(token)}>
            Revoke
          </DeedButton>
        ),
    },
  ];
  return (
    <Card
      title="Named tokens"
      flush
      actions={
        <DeedButton small off={readOnly} onClick={() => setCreating(true)}>
          New token
        </DeedButton>
      }
    >
      {!write ? (
        <p className="card-body muted">Your role may not see them.</p>
      ) : isPending ? (
        <div className="card-body">
          <Skeleton lines={2} />
        </div>
      ) : error && !data ? (
        <div className="card-body">
          <FailureNotice failure={error} onRetry={() => void refetch()} />
        </div>
      ) : named.length === 0 ? (
        <EmptyState title="No named token">Give each app its own token, with the scopes that it needs and an end.</EmptyState>
      ) : (
        <DataTable label="Named tokens" columns={columns} rows={named} idOf={({ id }) => id} estimatedHeight={60} />
      )}
      {creating ? <NewToken onClose={() => setCreating(false)} onMade={setMade} /> : null}
      {made?.token === undefined ? null : (
        <DialogWindow
          title={`Token ${made.name}`}
          open
          onClose={() => setMade(null)}
          actions={<DialogClose>I have it</DialogClose>}
        >
          <div className="stack">
            <p>It is shown this once; Everstep keeps only its hash.</p>
            <CopyId value={made.token} what="token" />
          </div>
        </DialogWindow>
      )}
      <ConfirmDialog
        title={`Revoke ${revoking?.name ?? ''}`}
        open={revoking !== null}
        onClose={() => setRevoking(null)}
        confirmText="Revoke token"
        danger
        onConfirm={() =>
          change({
            method: 'DELETE',
            url: path`/v2/queue/tokens/${queueId}/${revoking?.id ?? ''}`,
            topics: ['account'],
            account: true,
            done: `${revoking?.name ?? ''} is revoked`,
          })
        }
      >
        <p>Requests with this token are rejected from that moment. Runs continue.</p>
      </ConfirmDialog>
    </Card>
  );
}

interface NewTokenProps {
  readonly onClose: () => void;
  readonly onMade: (token: TokenEntry) => void;
}

function NewToken({ onClose, onMade }: NewTokenProps) {
  const queueId = useQueueId();
  const ids = { name: useId(), end: useId() };
  const [name, setName] = useState('');
  const [days, setDays] = useState('90');
  const [scopes, setScopes] = useState<ReadonlySet<Scope>>(new Set(['trigger']));
  const change = useChange();
  const toggle = (scope: Scope) =>
    setScopes((before) => {
      const next = new Set(before);
      if (!next.delete(scope)) next.add(scope);
      return next;
    });
  return (
    <ConfirmDialog
      title="New token"
      open
      onClose={onClose}
      confirmText="Create token"
      disabled={name.trim() === '' || scopes.size === 0}
      onConfirm={async () => {
        const end = days === '' ? {} : { expires_in_seconds: Number(days) * DAY_S };
        const outcome = await change<TokenEntry>({
          method: 'POST',
          url: path`/v2/queue/tokens/${queueId}`,
          body: { name: name.trim(), scopes: [...scopes], ...end },
          topics: ['account'],
          account: true,
        });
        if (outcome.ok) onMade(outcome.value);
        return outcome;
      }}
    >
      <div className="field">
        <label className="field-label" htmlFor={ids.name}>
          What it is for
        </label>
        <input id={ids.name} className="input" value={name} onChange={(event) => setName(event.target.value)} />
      </div>
      <fieldset className="field">
        <legend className="field-label">Scopes</legend>
        {SCOPE_NAMES.map((scope) => (
          <label key={scope} className="line">
            <input type="checkbox" checked={scopes.has(scope)} onChange={() => toggle(scope)} />
            <span>
              {scope} <span className="muted">{SCOPES[scope]}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <div className="field">
        <label className="field-label" htmlFor={ids.end}>
          Expires
        </label>
        <select id={ids.end} className="input" value={days} onChange={(event) => setDays(event.target.value)}>
          {Object.entries(ENDS).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </div>
    </ConfirmDialog>
  );
}
