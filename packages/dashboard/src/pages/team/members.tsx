/** Members of a team with their roles. */
import { useState } from 'react';
import type { TeamEntry, TeamMember } from '../../../../everstep/src/contract/management.js';
import { path } from '../../api/client.js';
import { useApi, useChange } from '../../api/queries.js';
import { useSession } from '../../api/session.js';
import { ActionButton } from '../../components/action-button.js';
import { Card } from '../../components/card.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { SelectField, TextField } from '../../components/fields.js';
import { Loaded } from '../../components/loading/loaded.js';
import { type Column, DataTable } from '../../components/tables/data-table.js';
import { TimeText } from '../../components/times/time-text.js';
import { InvitationLinkDialog } from './invitation-link-dialog.js';
import { Invitations } from './invitations.js';

/** Roles that a member can be given. Only the user who creates a team becomes its owner. */
const ROLES = ['admin', 'dev', 'finance'] as const satisfies readonly TeamMember['member_role'][];
type Role = (typeof ROLES)[number];
const ROLE_HINTS: Readonly<Record<Role, string>> = {
  admin: 'Full access.',
  dev: 'Views and changes runs, tokens and settings. No billing or member management.',
  finance: 'Read-only access, except that it can change budgets.',
};

export interface MembersProps {
  readonly team: TeamEntry;
}

export function Members({ team }: MembersProps) {
  const { user } = useSession();
  const canManage = team.role === 'owner' || team.role === 'admin';
  const [memberDialog, setMemberDialog] = useState<TeamMember | 'new' | null>(null);
  const [memberToRemove, setMemberToRemove] = useState<TeamMember | null>(null);
  const [isDeleting, setIsDeleting] = useState(false);
  const [invitation, setInvitation] = useState<{ readonly email: string; readonly secret: string } | null>(null);
  const change = useChange();
  const members = useApi<readonly TeamMember[]>({
    topic: 'account',
    name: 'members',
    url: path`/v2/teams/${team.id}`,
  });
  const disabledReason = canManage ? undefined : 'Only owners and admins can manage the team';
  const isOwn = ({ id }: TeamMember) => id === user.id;
  const ownerReason = ({ member_role: role }: TeamMember) => {
    if (role !== 'owner') return undefined;
    if (team.role !== 'owner') return 'Only owners can change or remove an owner';
    const owners = members.data?.filter(({ member_role: otherRole }) => otherRole === 'owner') ?? [];
    return owners.length === 1 ? 'A team must have at least one owner' : undefined;
  };
  const columns: readonly Column<TeamMember>[] = [
    {
      id: 'email',
      header: 'Member',
      width: 'minmax(0, 3fr)',
      cell: (member) => (
        <>
          <div className="clip" title={member.member_email}>
            {member.member_email} {isOwn(member) ? <span className="muted">(you)</span> : null}
          </div>
          <div className="muted">{member.member_role}</div>
        </>
      ),
    },
    {
      id: 'since',
      header: 'Joined',
      width: '118px',
      shownFrom: 'medium',
      cell: ({ creation_time: at }) => <TimeText unixMs={at * 1000} />,
    },
    {
      id: 'actions',
      header: 'Actions',
      width: '172px',
      align: 'right',
      cell: (member) => (
        <span className="row-buttons">
          <ActionButton
            small
            disabledReason={disabledReason ?? ownerReason(member)}
            aria-label={`Change role of ${member.member_email}`}
            onClick={() => setMemberDialog(member)}
          >
            Change role
          </ActionButton>
          <ActionButton
            variant="danger"
            small
            disabledReason={(isOwn(member) ? undefined : disabledReason) ?? ownerReason(member)}
            aria-label={isOwn(member) ? `Leave ${team.name}` : `Remove ${member.member_email}`}
            onClick={() => setMemberToRemove(member)}
          >
            {isOwn(member) ? 'Leave' : 'Remove'}
          </ActionButton>
        </span>
      ),
    },
  ];
  return (
    <Card
      title={team.name}
      flush
      actions={
        <>
          <ActionButton small disabledReason={disabledReason} onClick={() => setMemberDialog('new')}>
            Invite
          </ActionButton>
          <ActionButton variant="danger" small disabledReason={disabledReason} onClick={() => setIsDeleting(true)}>
            Delete team
          </ActionButton>
        </>
      }
    >
      <Loaded query={members} flush>
        {(rows) => (
          <DataTable label={`Members of ${team.name}`} columns={columns} rows={rows} idOf={({ id }) => id} estimatedHeight={60} />
        )}
      </Loaded>
      {canManage ? <Invitations team={team} /> : null}
      {memberDialog === null ? null : (
        <MemberDialog
          team={team}
          member={memberDialog === 'new' ? null : memberDialog}
          onClose={() => setMemberDialog(null)}
          onInvited={(email, secret) => setInvitation({ email, secret })}
        />
      )}
      {invitation === null ? null : (
        <InvitationLinkDialog email={invitation.email} secret={invitation.secret} onClose={() => setInvitation(null)} />
      )}
      {memberToRemove === null ? null : (
        <RemoveDialog team={team} member={memberToRemove} isOwn={isOwn(memberToRemove)} onClose={() => setMemberToRemove(null)} />
      )}
      <ConfirmDialog
        title={`Delete team ${team.name}?`}
        open={isDeleting}
        onClose={() => setIsDeleting(false)}
        confirmText="Delete team"
        danger
        onConfirm={() =>
          change({
            method: 'DELETE',
            url: path`/v2/team/${team.id}`,
            topics: ['account'],
            isManagementCall: true,
            successText: `Deleted team ${team.name}`,
          })
        }
      >
        <p>
          Deletes the team with all its memberships. This cannot be undone. A team that owns queue instances or search indexes
          cannot be deleted: move or delete those first.
        </p>
      </ConfirmDialog>
    </Card>
  );
}

interface RemoveDialogProps {
  readonly team: TeamEntry;
  readonly member: TeamMember;
  /** Whether the member is the user, who leaves the team. */
  readonly isOwn: boolean;
  readonly onClose: () => void;
}

function RemoveDialog({ team, member, isOwn, onClose }: RemoveDialogProps) {
  const { member_email: email } = member;
  const change = useChange();
  return (
    <ConfirmDialog
      title={isOwn ? `Leave ${team.name}?` : `Remove ${email} from ${team.name}?`}
      open
      onClose={onClose}
      confirmText={isOwn ? 'Leave team' : 'Remove from team'}
      danger
      onConfirm={() =>
        change({
          method: 'DELETE',
          url: '/v2/teams/member',
          body: { team_id: team.id, member_email: email },
          topics: ['account'],
          isManagementCall: true,
          successText: isOwn ? `Left ${team.name}` : `Removed ${email} from ${team.name}`,
        })
      }
    >
      {isOwn ? (
        <p>You immediately lose access to everything that {team.name} owns. An owner or admin can invite you again.</p>
      ) : (
        <p>
          The member immediately loses access to everything that {team.name} owns. You can invite the member again. Tokens that
          the member has copied keep working until you rotate them.
        </p>
      )}
    </ConfirmDialog>
  );
}

interface MemberDialogProps {
  readonly team: TeamEntry;
  /** The member whose role changes; null to invite a new member. */
  readonly member: TeamMember | null;
  readonly onClose: () => void;
  readonly onInvited: (email: string, secret: string) => void;
}

function MemberDialog({ team, member, onClose, onInvited }: MemberDialogProps) {
  const [email, setEmail] = useState(member?.member_email ?? '');
  const [role, setRole] = useState<Role>(member === null ? 'dev' : member.member_role === 'owner' ? 'admin' : member.member_role);
  const change = useChange();
  return (
    <ConfirmDialog
      title={member === null ? `Invite member to ${team.name}` : `Change role of ${member.member_email}`}
      open
      onClose={onClose}
      confirmText={member === null ? 'Invite' : 'Change role'}
      disabled={!/^[^\s@]+@[^\s@]+$/.test(email.trim())}
      onConfirm={async () => {
        const outcome = await change<TeamMember>({
          method: 'POST',
          url: '/v2/teams/member',
          body: { team_id: team.id, member_email: email.trim(), member_role: role },
          topics: ['account'],
          isManagementCall: true,
          successText:
            member === null ? `Invited ${email.trim()} to ${team.name}` : `Changed the role of ${email.trim()} to ${role}`,
        });
        if (outcome.ok && outcome.value.invitation_secret !== undefined) onInvited(email.trim(), outcome.value.invitation_secret);
        return outcome;
      }}
    >
      {member === null ? <TextField label="Email" type="email" autoComplete="off" value={email} onChange={setEmail} /> : null}
      <SelectField
        label="Role"
        value={role}
        hint={ROLE_HINTS[role]}
        onChange={(value) => setRole(ROLES.find((option) => option === value) ?? role)}
      >
        {ROLES.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </SelectField>
    </ConfirmDialog>
  );
}
