/** `everstep admin account`, `plans`, `audit` and `keys list|create|revoke` */
import type { ApiKey } from '@everstep/sdk';
import { Command } from 'commander';
import { wholeNumber } from '../../arguments.js';
import { duration, instant, json, printable, type Shell, table } from '../../output.js';
import { type AdminOptions, openAdmin, withAdminConnection } from './admin-connection.js';

const MS_PER_SECOND = 1_000;
const DEFAULT_LIMIT = 100;

export function accountCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('account')).description('Show your user and your accounts.');
  return command.action(async () => {
    const { admin, options } = await openAdmin(command, shell);
    const account = await admin.account();
    if (options.json) return screen.write(json(account));
    screen.write(`${printable(account.email)}, since ${instant(account.creation_time * MS_PER_SECOND)} UTC\n\n`);
    const rows = account.accounts.map(({ id, role }) => [id, id === account.id ? 'personal' : 'team', role]);
    screen.write(table(screen, ['ACCOUNT', 'KIND', 'ROLE'], rows));
  });
}

export function plansCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('plans')).description(
    'List the plans of the installation ("-" means no limit).',
  );
  return command.action(async () => {
    const { admin, options } = await openAdmin(command, shell);
    const plans = await admin.instances.plans();
    if (options.json) return screen.write(json(plans));
    const durationCell = (ms: number | null) => (ms === null ? null : duration(ms));
    const rows = plans.map((plan) => [
      plan.name,
      plan.max_message_bytes,
      plan.max_requests_per_day,
      plan.api_calls_per_second,
      plan.max_parallelism,
      plan.max_schedules,
      plan.max_stored_bytes,
      plan.max_active_runs,
      durationCell(plan.max_timeout_ms),
      durationCell(plan.log_retention_ms),
      durationCell(plan.dead_letter_retention_ms),
      plan.price_per_100k_messages,
    ]);
    const head = [
      'PLAN',
      'MESSAGE BYTES',
      'RUNS/DAY',
      'CALLS/S',
      'PARALLEL',
      'SCHEDULES',
      'STORED BYTES',
      'ACTIVE RUNS',
      'TIMEOUT',
      'RUN RETENTION',
      'DLQ RETENTION',
      'DOLLARS/100K',
    ];
    screen.write(table(screen, head, rows));
  });
}

interface AuditOptions extends AdminOptions {
  readonly limit: number;
  readonly all?: boolean;
  readonly search?: string;
}

export function auditCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('audit'))
    .description('List the audit log of your accounts, newest first.')
    .option('--limit <entries>', 'maximum number of entries', wholeNumber('--limit', 1), DEFAULT_LIMIT)
    .option('--search <words>', 'only entries that contain all of these words, ignoring case')
    .option('--all', 'include all accounts and installation-wide entries (operators only)');
  return command.action(async () => {
    const { admin, options } = await openAdmin<AuditOptions>(command, shell);
    const entries = [];
    const { all, search: q } = options;
    for await (const entry of admin.auditEntries({ ...(all ? { all } : {}), ...(q === undefined ? {} : { q }) })) {
      entries.push(entry);
      if (entries.length >= options.limit) break;
    }
    if (options.json) return screen.write(json(entries));
    if (entries.length === 0) return screen.write('No audit log entries.\n');
    const rows = entries.map(({ creation_time, actor, address, action, subject, details }) => [
      instant(creation_time * MS_PER_SECOND),
      actor,
      address,
      action,
      subject,
      Object.entries(details)
        .map(([name, value]) => `${name}=${value}`)
        .join(' '),
    ]);
    screen.write(table(screen, ['TIME (UTC)', 'ACTOR', 'ADDRESS', 'ACTION', 'SUBJECT', 'DETAILS'], rows));
  });
}

function listKeysCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('list')).description('List your API keys, including revoked ones.');
  return command.action(async () => {
    const { admin, options } = await openAdmin(command, shell);
    const keys = await admin.apiKeys.list();
    if (options.json) return screen.write(json(keys));
    const revokedAt = ({ revocation_time }: ApiKey) =>
      revocation_time === undefined ? null : instant(revocation_time * MS_PER_SECOND);
    const rows = keys.map((key) => [key.id, key.name, instant(key.creation_time * MS_PER_SECOND), revokedAt(key)]);
    screen.write(table(screen, ['KEY', 'NAME', 'CREATED (UTC)', 'REVOKED (UTC)'], rows));
  });
}

function createKeyCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('create'))
    .description('Create an API key and print it. It cannot be shown again.')
    .argument('<name>', 'name of the key');
  return command.action(async (name: string) => {
    const { admin, options } = await openAdmin(command, shell);
    const key = await admin.apiKeys.create(name);
    screen.write(options.json ? json(key) : `${key.api_key}\n`);
  });
}

function revokeKeyCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('revoke'))
    .description('Revoke an API key. Your last valid key cannot be revoked.')
    .argument('<keyId>', 'id of the key');
  return command.action(async (keyId: string) => {
    const { admin, options } = await openAdmin(command, shell);
    await admin.apiKeys.revoke(keyId);
    screen.write(options.json ? json({ revoked: 1 }) : '1 revoked\n');
  });
}

export function apiKeysCommand(shell: Shell): Command {
  return new Command('keys')
    .description('Manage your API keys.')
    .addCommand(listKeysCommand(shell))
    .addCommand(createKeyCommand(shell))
    .addCommand(revokeKeyCommand(shell));
}
