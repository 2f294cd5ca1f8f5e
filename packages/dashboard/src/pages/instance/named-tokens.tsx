/** Lists, creates and revokes named tokens of the instance, which have scopes and an expiry. */
import { useState } from 'react';
import type { TokenEntry } from '../../../../everstep/src/contract/management.js';
import { path } from '../../api/client.js';
import { useInstanceId, usePermissions } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { Card } from '../../components/card.js';
import { CopyId } from '../../components/copy-id.js';
import { ConfirmDialog, DialogClose, DialogWindow } from '../../components/dialogs.js';
import { SelectField, TextField } from '../../components/fields.js';
import { Loaded } from '../../components/loading/loaded.js';
import { EmptyState } from '../../components/states.js';
import { type Column, DataTable } from '../../components/tables/data-table.js';
import { TimeText } from '../../components/times/time-text.js';

type Scope = TokenEntry['scopes'][number];
type GeneralScope = Exclude<Scope, `connect:${string}`>;
const SCOPES: Readonly<Record<GeneralScope, string>> = {
  trigger: 'start runs and publish messages',
  notify: 'send events',
  'read-metadata': 'read everything except payloads, results and headers',
  read: 'read everything',
  write: 'read and write everything',
  connect: 'connect workers',
};
const SCOPE_NAMES = Object.keys(SCOPES).filter((name): name is GeneralScope => name in SCOPES);
const DAY_S = 86_400;
const EXPIRIES = { '7': 'In 7 days', '30': 'In 30 days', '90': 'In 90 days', '365': 'In a year', '': 'Never' } as const;

const hasEnded = ({ revocation_time: revokedAt, expiration_time: expiresAt }: TokenEntry): boolean =>
  revokedAt !== undefined || (expiresAt !== undefined && expiresAt * 1000 <= Date.now());

export function NamedTokens() {
  const instanceId = useInstanceId();
  const { canWrite, readOnlyReason } = usePermissions();
  const [isCreating, setIsCreating] = useState(false);
  const [createdToken, setCreatedToken] = useState<TokenEntry | null>(null);
  const [tokenToRevoke, setTokenToRevoke] = useState<TokenEntry | null>(null);
  const change = useChange();
  const tokens = useApi<readonly TokenEntry[]>({
    topic: 'account',
    name: 'tokens',
    url: path`/v2/queue/tokens/${instanceId}`,
    enabled: canWrite,
  });
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
      header: 'Last used',
      width: '118px',
      shownFrom: 'medium',
      cell: ({ last_use_time: at }) =>
        at === undefined ? <span className="muted">never</span> : <TimeText unixMs={at * 1000} />,
    },
    {
      id: 'expires',
      header: 'Expires',
      width: '118px',
      cell: ({ expiration_time: at }) =>
        at === undefined ? <span className="muted">never</span> : <TimeText unixMs={at * 1000} />,
    },
    {
      id: 'actions',
      header: 'Actions',
      width: '92px',
      align: 'right',
      cell: (token) =>
        hasEnded(token) ? (
          <span className="muted">{token.revocation_time === undefined ? 'Expired' : 'Revoked'}</span>
        ) : (
          <ActionButton
            variant="danger"
            small
            disabledReason={readOnlyReason}
            aria-label={`Revoke ${token.name}`}
            onClick={() => setTokenToRevoke(token)}
          >
            Revoke
          </ActionButton>
        ),
    },
  ];
  return (
    <Card
      title="Named tokens"
      flush
      actions={
        <ActionButton small disabledReason={readOnlyReason} onClick={() => setIsCreating(true)}>
          New token
        </ActionButton>
      }
    >
      {canWrite ? (
        <Loaded query={tokens} lines={2} flush>
          {(rows) => <NamedTokensTable tokens={rows.filter((token) => !token.is_permanent)} columns={columns} />}
        </Loaded>
      ) : (
        <p className="card-body muted">Your role cannot view tokens.</p>
      )}
      {isCreating ? <NewTokenDialog onClose={() => setIsCreating(false)} onCreated={setCreatedToken} /> : null}
      {createdToken?.token === undefined ? null : (
        <DialogWindow
          title={`Token ${createdToken.name}`}
          open
          onClose={() => setCreatedToken(null)}
          actions={<DialogClose>Done</DialogClose>}
        >
          <div className="stack">
            <p>Save this token now: it is shown only once. Everstep stores only its hash.</p>
            <CopyId value={createdToken.token} valueName="token" />
          </div>
        </DialogWindow>
      )}
      <ConfirmDialog
        title={`Revoke token ${tokenToRevoke?.name ?? ''}?`}
        open={tokenToRevoke !== null}
        onClose={() => setTokenToRevoke(null)}
        confirmText="Revoke token"
        danger
        onConfirm={() =>
          change({
            method: 'DELETE',
            url: path`/v2/queue/tokens/${instanceId}/${tokenToRevoke?.id ?? ''}`,
            topics: ['account'],
            isManagementCall: true,
            successText: `Revoked token ${tokenToRevoke?.name ?? ''}`,
          })
        }
      >
        <p>Requests with this token are rejected immediately. This cannot be undone. Existing runs are not affected.</p>
      </ConfirmDialog>
    </Card>
  );
}

interface NamedTokensTableProps {
  readonly tokens: readonly TokenEntry[];
  readonly columns: readonly Column<TokenEntry>[];
}

function NamedTokensTable({ tokens, columns }: NamedTokensTableProps) {
  return tokens.length === 0 ? (
    <EmptyState title="No named tokens">Give each app its own token with the scopes it needs and an expiry.</EmptyState>
  ) : (
    <DataTable label="Named tokens" columns={columns} rows={tokens} idOf={({ id }) => id} estimatedHeight={60} />
  );
}

/** Returns the scope to request. Without an app, a token may connect the workers of all apps. */
const scopeFor = (scope: GeneralScope, app: string): Scope => (scope === 'connect' && app !== '' ? `connect:${app}` : scope);

interface NewTokenDialogProps {
  readonly onClose: () => void;
  readonly onCreated: (token: TokenEntry) => void;
}

function NewTokenDialog({ onClose, onCreated }: NewTokenDialogProps) {
  const instanceId = useInstanceId();
  const [name, setName] = useState('');
  const [days, setDays] = useState('90');
  const [scopes, setScopes] = useState<ReadonlySet<GeneralScope>>(new Set(['trigger']));
  const [app, setApp] = useState('');
  const change = useChange();
  const toggle = (scope: GeneralScope) =>
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
        const expiry = days === '' ? {} : { expires_in_seconds: Number(days) * DAY_S };
        const outcome = await change<TokenEntry>({
          method: 'POST',
          url: path`/v2/queue/tokens/${instanceId}`,
          body: { name: name.trim(), scopes: [...scopes].map((scope) => scopeFor(scope, app.trim())), ...expiry },
          topics: ['account'],
          isManagementCall: true,
        });
        if (outcome.ok) onCreated(outcome.value);
        return outcome;
      }}
    >
      <TextField label="Name" value={name} onChange={setName} />
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
      {scopes.has('connect') ? <TextField label="Worker app" placeholder="All apps" value={app} onChange={setApp} /> : null}
      <SelectField label="Expires" value={days} onChange={setDays}>
        {Object.entries(EXPIRIES).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </SelectField>
    </ConfirmDialog>
  );
}
