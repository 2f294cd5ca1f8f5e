/** `everstep admin ...`: the management API. */
import { Command } from 'commander';
import type { Shell } from '../../output.js';
import { accountCommand, apiKeysCommand, auditCommand, plansCommand } from './account.js';
import { instancesCommand } from './instances.js';
import { logLevelCommand } from './log-level.js';
import { searchIndexesCommand } from './search.js';
import { sessionsCommand } from './sessions.js';
import { invitationsCommand, membersCommand, teamsCommand } from './teams.js';
import { tokensCommand } from './tokens.js';
import { usersCommand } from './users.js';

const CONNECTION_HELP = `
These commands sign in with --management-url, --email and --api-key. The defaults are EVERSTEP_MANAGEMENT_URL,
EVERSTEP_ADMIN_EMAIL and EVERSTEP_ADMIN_API_KEY, then the credentials in the local data directory.`;

export function adminCommand(shell: Shell): Command {
  return new Command('admin')
    .description('Manage users, teams, queue instances, budgets, plans, search indexes and the audit log.')
    .addCommand(accountCommand(shell))
    .addCommand(apiKeysCommand(shell))
    .addCommand(sessionsCommand(shell))
    .addCommand(teamsCommand(shell))
    .addCommand(membersCommand(shell))
    .addCommand(invitationsCommand(shell))
    .addCommand(usersCommand(shell))
    .addCommand(instancesCommand(shell))
    .addCommand(tokensCommand(shell))
    .addCommand(searchIndexesCommand(shell))
    .addCommand(plansCommand(shell))
    .addCommand(auditCommand(shell))
    .addCommand(logLevelCommand(shell))
    .addHelpText('after', CONNECTION_HELP);
}
