/** `everstep admin teams list|create|delete` and `everstep admin members list|add|remove` */
import type { MemberRole } from '@everstep/sdk';

import { Command, Option } from 'commander';
import { type AdminOptions, openAdmin, withAdminConnection } from '../../admin-connection.js';
import { instant, json, printable, type Shell, table } from '../../output.js';

const MS_PER_SECOND = 1_000;
const ROLES: readonly MemberRole[] = ['admin', 'dev', 'finance'];

function listTeamsCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('list')).description('List the teams that you are in.');
  return command.action(async () => {
    const { admin, options } = await openAdmin(command, shell);
    const teams = await admin.teams.list();
    if (options.json) return screen.write(json(teams));
    if (teams.length === 0) return screen.write('You are in no team.\n');
    const rows = teams.map(({ id, name, role, creation_time }) => [id, name, role, instant(creation_time * MS_PER_SECOND)]);
    screen.write(table(screen, ['TEAM', 'NAME', 'YOUR ROLE', 'CREATED (UTC)'], rows));
  });
}

function createTeamCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('create'))
    .description('Create a team, whose owner you are, and print its id.')
    .argument('<name>', 'for people');
  return command.action(async (name: string) => {
    const { admin, options } = await openAdmin(command, shell);
    const team = await admin.teams.create(name);
    screen.write(options.json ? json(team) : `${team.id}\n`);
  });
}

function deleteTeamCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('delete'))
    .description('Delete a team, which must own nothing any more.')
    .argument('<teamId>', 'id of the team');
  return command.action(async (teamId: string) => {
    const { admin, options } = await openAdmin(command, shell);
    await admin.teams.delete(teamId);
    screen.write(options.json ? json({ deleted: 1 }) : '1 deleted\n');
  });
}

export function teamsCommand(shell: Shell): Command {
  return new Command('teams')
    .description('Teams: list, create, delete.')
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
    .description('Add a member to a team, or give one another role. A user who does not exist yet is made.')
    .argument('<teamId>', 'id of the team')
    .argument('<email>', 'e-mail of the user')
    .addOption(new Option('--role <role>', 'what the member may do').choices(ROLES).makeOptionMandatory());
  return command.action(async (teamId: string, email: string) => {
    const { admin, options } = await openAdmin<AddOptions>(command, shell);
    const member = await admin.teams.members.put(teamId, email, options.role);
    if (options.json) return screen.write(json(member));
    screen.write(`${printable(member.member_email)} is ${member.member_role}\n`);
    if (member.api_key !== undefined) {
      screen.write(`The user was made. This API key is for logging in, and is shown this once:\n${member.api_key}\n`);
    }
  });
}

function removeMemberCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('remove'))
    .description('Remove a member from a team, or leave it.')
    .argument('<teamId>', 'id of the team')
    .argument('<email>', 'e-mail of the member');
  return command.action(async (teamId: string, email: string) => {
    const { admin, options } = await openAdmin(command, shell);
    await admin.teams.members.remove(teamId, email);
    screen.write(options.json ? json({ removed: 1 }) : '1 removed\n');
  });
}

export function membersCommand(shell: Shell): Command {
  return new Command('members')
    .description('Members of a team: list, add, remove.')
    .addCommand(listMembersCommand(shell))
    .addCommand(addMemberCommand(shell))
    .addCommand(removeMemberCommand(shell));
}
