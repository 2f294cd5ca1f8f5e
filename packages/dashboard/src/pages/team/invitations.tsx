/** Lists pending invitations to a team. Renders nothing without any. */
import { useState } from 'react';
import type { TeamEntry, TeamMember } from '../../../../everstep/src/contract/management.js';
import { path } from '../../api/client.js';
import { useApi, useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { NotLoaded } from '../../components/loading/loaded.js';
import { type Column, DataTable } from '../../components/tables/data-table.js';
import { TimeText } from '../../components/times/time-text.js';

export interface InvitationsProps {
  readonly team: TeamEntry;
}

export function Invitations({ team }: InvitationsProps) {
  const [invitationToRevoke, setInvitationToRevoke] = useState<TeamMember | null>(null);
  const change = useChange();
  const invitations = useApi<readonly TeamMember[]>({
    topic: 'account',
    name: 'invitations',
    url: path`/v2/teams/${team.id}/invitations`,
  });
  const columns: readonly Column<TeamMember>[] = [
    {
      id: 'email',
      header: 'Pending invitation',
      width: 'minmax(0, 3fr)',
      cell: ({ member_email: email, member_role: role }) => (
        <>
          <div className="clip" title={email}>
            {email}
          </div>
          <div className="muted">Invited as {role}</div>
        </>
      ),
    },
    {
      id: 'until',
      header: 'Expires',
      width: '118px',
      shownFrom: 'medium',
      cell: ({ expiration_time: at = 0 }) => <TimeText unixMs={at * 1000} />,
    },
    {
      id: 'actions',
      header: 'Actions',
      width: '172px',
      align: 'right',
      cell: (invitation) => (
        <ActionButton
          variant="danger"
          small
          disabledReason={undefined}
          aria-label={`Revoke invitation for ${invitation.member_email}`}
          onClick={() => setInvitationToRevoke(invitation)}
        >
          Revoke
        </ActionButton>
      ),
    },
  ];
  const { data, error } = invitations;
  if (data === undefined) return error === null ? null : <NotLoaded query={invitations} flush />;
  if (data.length === 0) return null;
  return (
    <>
      <DataTable
        label={`Pending invitations to ${team.name}`}
        columns={columns}
        rows={data}
        idOf={({ id }) => id}
        estimatedHeight={60}
      />
      <ConfirmDialog
        title={`Revoke invitation for ${invitationToRevoke?.member_email ?? ''}?`}
        open={invitationToRevoke !== null}
        onClose={() => setInvitationToRevoke(null)}
        confirmText="Revoke invitation"
        danger
        onConfirm={() =>
          change({
            method: 'DELETE',
            url: path`/v2/invitations/${invitationToRevoke?.id ?? ''}`,
            topics: ['account'],
            successText: `Revoked the invitation for ${invitationToRevoke?.member_email ?? ''}`,
          })
        }
      >
        <p>The invitation link stops working immediately. This cannot be undone, but you can send a new invitation.</p>
      </ConfirmDialog>
    </>
  );
}
