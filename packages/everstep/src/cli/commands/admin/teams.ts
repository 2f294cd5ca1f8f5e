/** `everstep admin teams list|create|delete`, `members list|add|remove` and `invitations list|revoke|accept|join`. */
import { acceptInvitation, type MemberRole } from '@everstep/sdk';
import { Command, Option } from 'commander';
import { instant, json, printable, type Shell, table } from '../../output.js';
import { type AdminOptions, managementUrlOf, openAdmin, withAdminConnection } from './admin-connection.js';

const MS_PER_SECOND = 1_000;
const ROLES: readonly MemberRole[] = ['admin', 'dev', 'finance'];

function listTeamsCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('list')).description('List your teams.');
  return command.action(async () => {
    const { admin, options } = await openAdmin(command, shell);
    const teams = await admin.teams.list();
    if (options.json) return screen.write(json(teams));
    if (teams.length === 0) return screen.write('No teams.\n');
    const rows = teams.map(({ id, name, role, creation_time }) => [id, name, role, instant(creation_time * MS_PER_SECOND)]);
    screen.write(table(screen, ['TEAM', 'NAME', 'YOUR ROLE', 'CREATED (UTC)'], rows));
  });
}

function createTeamCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('create'))
    .description('Create a team that you own, and print its id.')
    .argument('<name>', 'name of the team');
  return command.action(async (name: string) => {
    const { admin, options } = await openAdmin(command, shell);
    const team = await admin.teams.create(name);
    screen.write(options.json ? json(team) : `${team.id}\n`);
  });
}

function deleteTeamCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('delete'))
    .description('Delete a team. It must not own any queue instances or search indexes.')
    .argument('<teamId>', 'id of the team');
  return command.action(async (teamId: string) => {
    const { admin, options } = await openAdmin(command, shell);
    await admin.teams.delete(teamId);
    screen.write(options.json ? json({ deleted: 1 }) : '1 deleted\n');
  });
}

export function teamsCommand(shell: Shell): Command {
  return new Command('teams')
    .description('Manage teams.')
    .addCommand(listTeamsCommand(shell))
    .addCommand(createTeamCommand(shell))
    .addCommand(deleteTeamCommand(shell));
}

function listMembersCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('list'))
    .description('List the members of a team.')
    .argument('<teamId>', 'id of the team');
  return command.action(async (teamId: string) => {
    const { admin, options } = await openAdmin(command, shell);
    const members = await admin.teams.members.list(teamId);
    if (options.json) return screen.write(json(members));
    const rows = members.map((member) => [
      member.member_email,
      member.member_role,
      instant(member.creation_time * MS_PER_SECOND),
    ]);
    screen.write(table(screen, ['MEMBER', 'ROLE', 'SINCE (UTC)'], rows));
  });
}

interface AddOptions extends AdminOptions {
  readonly role: MemberRole;
}

function addMemberCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('add'))
    .description('Invite a user to a team, or change the role of a member.')
    .argument('<teamId>', 'id of the team')
    .argument('<email>', 'email of the user')
    .addOption(new Option('--role <role>', 'role of the member').choices(ROLES).makeOptionMandatory());
  return command.action(async (teamId: string, email: string) => {
    const { admin, options } = await openAdmin<AddOptions>(command, shell);
    const member = await admin.teams.members.put(teamId, email, options.role);
    if (options.json) return screen.write(json(member));
    if (member.invitation_secret === undefined)
      return screen.write(`${printable(member.member_email)} has role ${member.member_role}\n`);
    const expiryText = instant((member.expiration_time ?? 0) * MS_PER_SECOND);
    screen.write(`${printable(member.member_email)} invited as ${member.member_role} until ${expiryText} (UTC).\n`);
    screen.write(
      `Send this secret to the invited user. It is shown only once and works only once:\n${member.invitation_secret}\n`,
    );
  });
}

function removeMemberCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('remove'))
    .description('Remove a member from a team, or leave a team.')
    .argument('<teamId>', 'id of the team')
    .argument('<email>', 'email of the member');
  return command.action(async (teamId: string, email: string) => {
    const { admin, options } = await openAdmin(command, shell);
    await admin.teams.members.remove(teamId, email);
    screen.write(options.json ? json({ removed: 1 }) : '1 removed\n');
  });
}

export function membersCommand(shell: Shell): Command {
  return new Command('members')
    .description('Manage the members of a team.')
    .addCommand(listMembersCommand(shell))
    .addCommand(addMemberCommand(shell))
    .addCommand(removeMemberCommand(shell));
}

function listInvitationsCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('list'))
    .description('List the pending invitations of a team.')
    .argument('<teamId>', 'id of the team');
  return command.action(async (teamId: string) => {
    const { admin, options } = await openAdmin(command, shell);
    const invitations = await admin.teams.invitations.list(teamId);
    if (options.json) return screen.write(json(invitations));
    if (invitations.length === 0) return screen.write('No pending invitations.\n');
    const rows = invitations.map(({ id, member_email, member_role, expiration_time = 0 }) => [
      id,
      member_email,
      member_role,
      instant(expiration_time * MS_PER_SECOND),
    ]);
    screen.write(table(screen, ['INVITATION', 'EMAIL', 'ROLE', 'EXPIRES (UTC)'], rows));
  });
}

function revokeInvitationCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('revoke'))
    .description('Revoke a pending invitation.')
    .argument('<invitationId>', 'id of the invitation');
  return command.action(async (invitationId: string) => {
    const { admin, options } = await openAdmin(command, shell);
    await admin.teams.invitations.revoke(invitationId);
    screen.write(options.json ? json({ revoked: 1 }) : '1 revoked\n');
  });
}

function joinCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('join'))
    .description('Accept an invitation as an existing user.')
    .argument('<secret>', 'invitation secret');
  return command.action(async (secret: string) => {
    const { admin, options } = await openAdmin(command, shell);
    const membership = await admin.teams.invitations.join(secret);
    screen.write(
      options.json ? json(membership) : `You joined ${printable(membership.team_name)} as ${membership.member_role}\n`,
    );
  });
}

function acceptCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = new Command('accept')
    .description('Accept an invitation as a new user, and print the email and the first API key.')
    .argument('<secret>', 'invitation secret')
    .option('--management-url <url>', 'URL of the management API (or EVERSTEP_MANAGEMENT_URL)')
    .option('--json', 'print JSON');
  return command.action(async (secret: string) => {
    const options = command.opts<Pick<AdminOptions, 'managementUrl' | 'json'>>();
    const membership = await acceptInvitation(secret, { baseUrl: managementUrlOf(options, shell) });
    if (options.json) return screen.write(json(membership));
    screen.write(`You joined ${printable(membership.team_name)} as ${membership.member_role}.\n`);
    screen.write(
      `Sign in as ${printable(membership.member_email)} with this API key, which is shown only once:\n${membership.api_key}\n`,
    );
  });
}

export function invitationsCommand(shell: Shell): Command {
  return new Command('invitations')
    .description('Manage invitations to teams.')
    .addCommand(listInvitationsCommand(shell))
    .addCommand(revokeInvitationCommand(shell))
    .addCommand(acceptCommand(shell))
    .addCommand(joinCommand(shell));
}
