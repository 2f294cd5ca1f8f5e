/** Lists the identities with which the user signs in through single sign-on, links another one and unlinks one. */
import { useState } from 'react';
import type { IdentityEntry } from '../../../../everstep/src/contract/management.js';
import type { Redirected } from '../../../../everstep/src/contract/sign-in.js';
import { path } from '../../api/client.js';
import { useApi, useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { Card } from '../../components/card.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { Loaded } from '../../components/loading/loaded.js';
import { EmptyState } from '../../components/states.js';
import { type Column, DataTable } from '../../components/tables/data-table.js';
import { TimeText } from '../../components/times/time-text.js';

export function Identities({ userId }: { readonly userId: string }) {
  const [isLinking, setIsLinking] = useState(false);
  const [identityToUnlink, setIdentityToUnlink] = useState<IdentityEntry | null>(null);
  const change = useChange();
  const identities = useApi<readonly IdentityEntry[]>({
    topic: 'account',
    name: 'identities',
    url: path`/v2/users/${userId}/identities`,
  });
  const linkIdentity = async () => {
    setIsLinking(true);
    const outcome = await change<Redirected>({
      ...{ method: 'POST', url: '/v2/session/sso/link', topics: [], isManagementCall: true, showFailure: true },
    });
    setIsLinking(false);
    if (outcome.ok) window.location.assign(outcome.value.location);
  };
  const columns: readonly Column<IdentityEntry>[] = [
    {
      id: 'issuer',
      header: 'Identity provider',
      width: 'minmax(0, 2fr)',
      cell: ({ issuer }) => (
        <div className="clip" title={issuer}>
          {issuer}
        </div>
      ),
    },
    {
      id: 'subject',
      header: 'Id at the provider',
      width: 'minmax(0, 2fr)',
      stackUnder: 'issuer',
      cell: ({ subject }) => (
        <div className="clip" title={subject}>
          {subject}
        </div>
      ),
    },
    {
      id: 'since',
      header: 'Linked',
      width: '118px',
      shownFrom: 'medium',
      cell: ({ creation_time: at }) => <TimeText unixMs={at * 1000} />,
    },
    {
      id: 'actions',
      header: 'Actions',
      width: '96px',
      align: 'right',
      cell: (identity) => (
        <ActionButton
          variant="danger"
          small
          disabledReason={undefined}
          aria-label={`Unlink ${identity.subject}`}
          onClick={() => setIdentityToUnlink(identity)}
        >
          Unlink
        </ActionButton>
      ),
    },
  ];
  return (
    <Card
      title="Single sign-on"
      flush
      actions={
        <ActionButton small disabledReason={undefined} busy={isLinking} onClick={() => void linkIdentity()}>
          Link identity
        </ActionButton>
      }
    >
      <Loaded query={identities} lines={2} flush>
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No linked identities">Link an identity to sign in without an API key.</EmptyState>
          ) : (
            <DataTable label="Single sign-on" columns={columns} rows={rows} idOf={({ id }) => id} />
          )
        }
      </Loaded>
      <ConfirmDialog
        title="Unlink this identity?"
        open={identityToUnlink !== null}
        onClose={() => setIdentityToUnlink(null)}
        confirmText="Unlink identity"
        danger
        onConfirm={() =>
          change({
            method: 'DELETE',
            url: path`/v2/users/${userId}/identities/${identityToUnlink?.id ?? ''}`,
            topics: ['account'],
            isManagementCall: true,
            successText: 'Unlinked the identity',
          })
        }
      >
        <p>
          {identityToUnlink?.subject} can no longer sign in as you. Your sessions that were started with single sign-on end,
          including this one if it was. You can link the identity again.
        </p>
      </ConfirmDialog>
    </Card>
  );
}
