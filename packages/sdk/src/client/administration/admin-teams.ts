/** Client for teams and their members (management API). */
import type { AccountRole, JoinedTeam, Team, TeamMember } from '../generated/index.js';
import { type Call, jsonCall } from '../transport.js';

/** Role that a member can be given. The owner is the user who created the team. */
export type MemberRole = Exclude<AccountRole, 'owner'>;

const MEMBER = '/v2/teams/member';
const INVITATIONS = '/v2/invitations';

/** Operations on teams, members and invitations. Use it through `AdminClient.teams`. Methods reject with EverstepError. */
export class Teams {
  /** Members of a team, identified by their email address. */
  readonly members: {
    /** Lists the members of a team. */
    readonly list: (teamId: string) => Promise<readonly TeamMember[]>;
    /**
     * Changes the role of a member, or invites a new one. An invitation has the status `invited` and an
     * `invitation_secret`, which you pass on to the invited person.
     */
    readonly put: (teamId: string, email: string, role: MemberRole) => Promise<TeamMember>;
    /** Removes a member from a team. */
    readonly remove: (teamId: string, email: string) => Promise<void>;
  };
  /** Invitations to a team. */
  readonly invitations: {
    /** Lists the pending invitations of a team. */
    readonly list: (teamId: string) => Promise<readonly TeamMember[]>;
    /** Revokes a pending invitation. */
    readonly revoke: (invitationId: string) => Promise<void>;
    /** Accepts an invitation as the logged-in user. A person without a user account calls `acceptInvitation` instead. */
    readonly join: (secret: string) => Promise<JoinedTeam>;
  };
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
    this.members = {
      list: (teamId) => call({ method: 'GET', path: `/v2/teams/${encodeURIComponent(teamId)}` }),
      put: (teamId, email, role) => call(jsonCall('POST', MEMBER, { team_id: teamId, member_email: email, member_role: role })),
      remove: async (teamId, email) => {
        await call(jsonCall('DELETE', MEMBER, { team_id: teamId, member_email: email }));
      },
    };
    this.invitations = {
      list: (teamId) => call({ method: 'GET', path: `/v2/teams/${encodeURIComponent(teamId)}/invitations` }),
      revoke: async (invitationId) => {
        await call({ method: 'DELETE', path: `${INVITATIONS}/${encodeURIComponent(invitationId)}` });
      },
      join: (secret) => call(jsonCall('POST', `${INVITATIONS}/join`, { secret })),
    };
  }

  /** Lists the teams that the user belongs to. */
  list(): Promise<readonly Team[]> {
    return this.call({ method: 'GET', path: '/v2/teams' });
  }

  /** Creates a team. The user becomes its owner. */
  create(name: string): Promise<Team> {
    return this.call(jsonCall('POST', '/v2/team', { team_name: name }));
  }

  /** Deletes a team. The team must not own queue instances or search indexes. */
  async delete(teamId: string): Promise<void> {
    await this.call({ method: 'DELETE', path: `/v2/team/${encodeURIComponent(teamId)}` });
  }
}
