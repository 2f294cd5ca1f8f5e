/** `everstep admin instances list|get|create|delete|rotate-tokens|move|budget|plan|budget-alert|stats|usage` */
import type { AdminClient, QueueInstance } from '@everstep/sdk';
import { Command } from 'commander';
import { durationMs, wholeNumber } from '../../arguments.js';
import { UsageError } from '../../exit-codes.js';
import { countText, instant, json, printable, type Screen, type Shell, styled, table } from '../../output.js';
import { type AdminOptions, openAdmin, withAdminConnection } from './admin-connection.js';
import { outboundCommands } from './outbound.js';

const MS_PER_SECOND = 1_000;

const budgetText = (dollars: number): string => (dollars === 0 ? 'no limit' : `${dollars} dollars per month`);

function showInstance(screen: Screen, instance: QueueInstance): void {
  const fields: readonly (readonly [string, string | undefined])[] = [
    ['instance', instance.id],
    ['name', instance.name],
    ['owner', instance.customer_id],
    ['your role', instance.role],
    ['region', instance.region],
    ['created', instant(instance.creation_time * MS_PER_SECOND)],
    ['plan', instance.plan],
    ['budget', budgetText(instance.budget)],
    ['alert', instance.budget_alert_url],
    ['token', instance.token],
    ['read only', instance.read_only_token],
  ];
  for (const [name, value] of fields) {
    if (value !== undefined) screen.write(`${styled(screen, 'dim', name.padEnd(11))}${printable(value)}\n`);
  }
}

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('list')).description('List the queue instances of all your accounts.');
  return command.action(async () => {
    const { admin, options } = await openAdmin(command, shell);
    const instances = await admin.instances.list();
    if (options.json) return screen.write(json(instances));
    if (instances.length === 0) return screen.write('No queue instances.\n');
    const rows = instances.map((instance) => [
      instance.id,
      instance.name,
      instance.region,
      instance.customer_id,
      instance.role,
      instance.state ?? instance.plan,
      instance.budget === 0 ? null : instance.budget,
    ]);
    screen.write(table(screen, ['INSTANCE', 'NAME', 'REGION', 'OWNER', 'YOUR ROLE', 'PLAN', 'BUDGET'], rows));
  });
}

interface CreateOptions extends AdminOptions {
  readonly region: string;
  readonly team?: string;
}

function createCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('create'))
    .description('Create a queue instance and print it with its tokens.')
    .argument('<name>', 'name of the queue instance')
    .requiredOption('--region <region>', 'region, such as eu-central-1')
    .option('--team <teamId>', 'team that owns the queue instance (default: your personal account)');
  return command.action(async (name: string) => {
    const { admin, options } = await openAdmin<CreateOptions>(command, shell);
    const { region, team } = options;
    const instance = await admin.instances.create({ name, region, ...(team === undefined ? {} : { teamId: team }) });
    if (options.json) screen.write(json(instance));
    else showInstance(screen, instance);
  });
}

function deleteCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('delete'))
    .description('Delete a queue instance with all its runs, messages, schedules and settings. This cannot be undone.')
    .argument('<instanceId>', 'id of the queue instance')
    .requiredOption('--confirm <name>', 'name of the queue instance, to confirm the deletion');
  return command.action(async (instanceId: string) => {
    const { admin, options } = await openAdmin<AdminOptions & { readonly confirm: string }>(command, shell);
    await admin.instances.delete(instanceId, { confirm: options.confirm });
    screen.write(options.json ? json({ deleted: 1 }) : '1 deleted\n');
  });
}

/** Returns a command that takes the id of an instance and prints the instance. */
function instanceCommand(
  shell: Shell,
  name: string,
  description: string,
  act: (admin: AdminClient, instanceId: string) => Promise<QueueInstance>,
): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command(name))
    .description(description)
    .argument('<instanceId>', 'id of the queue instance');
  return command.action(async (instanceId: string) => {
    const { admin, options } = await openAdmin(command, shell);
    const instance = await act(admin, instanceId);
    if (options.json) screen.write(json(instance));
    else showInstance(screen, instance);
  });
}

interface Change {
  readonly name: string;
  readonly description: string;
  /** Name and description of the second argument. */
  readonly argument: readonly [name: string, argumentDescription: string];
  /** Applies the change and resolves with a human-readable message. Throws UsageError for an invalid argument. */
  readonly act: (admin: AdminClient, instanceId: string, value: string) => Promise<string>;
}

/** Returns a command that changes one property of an instance. */
function changeCommand(shell: Shell, { name, description, argument, act }: Change): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command(name))
    .description(description)
    .argument('<instanceId>', 'id of the queue instance')
    .argument(...argument);
  return command.action(async (instanceId: string, value: string) => {
    const { admin, options } = await openAdmin(command, shell);
    const message = await act(admin, instanceId, value);
    screen.write(options.json ? json({ changed: 1 }) : `${message}\n`);
  });
}

const CHANGES: readonly Change[] = [
  {
    name: 'move',
    description: 'Move a queue instance to a team. Its contents and tokens do not change.',
    argument: ['<teamId>', 'id of the team'],
    async act(admin, instanceId, teamId) {
      await admin.instances.moveToTeam(instanceId, teamId);
      return `${printable(instanceId)} now belongs to ${printable(teamId)}`;
    },
  },
  {
    name: 'budget',
    description:
      'Set the monthly budget of a queue instance. When the budget is spent, new work is rejected; running work continues.',
    argument: ['<dollars>', 'whole dollars per calendar month (UTC); 0 for no limit'],
    async act(admin, instanceId, text) {
      const dollars = wholeNumber('<dollars>')(text);
      await admin.instances.updateBudget(instanceId, dollars);
      return `budget: ${budgetText(dollars)}`;
    },
  },
  {
    name: 'plan',
    description: 'Set the plan of a queue instance (operators only).',
    argument: ['<plan>', 'name of the plan'],
    async act(admin, instanceId, plan) {
      await admin.instances.setPlan(instanceId, plan);
      return `plan: ${printable(plan)}`;
    },
  },
  {
    name: 'budget-alert',
    description: 'Set the URL that is notified when 80% and 100% of the budget are spent.',
    argument: ['<url>', 'absolute URL, or "none"'],
    async act(admin, instanceId, url) {
      if (url !== 'none' && !URL.canParse(url)) throw new UsageError(`<url> must be an absolute URL or "none"; got "${url}"`);
      await admin.instances.setBudgetAlert(instanceId, url === 'none' ? null : url);
      return `budget alerts: ${url === 'none' ? 'none' : printable(url)}`;
    },
  },
];

interface StatsOptions extends AdminOptions {
  /** Length of the period in milliseconds. */
  readonly period?: number;
}

function statsCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('stats'))
    .description('Show the monthly usage of a queue instance, its budget and its rejected requests.')
    .argument('<instanceId>', 'id of the queue instance')
    .option('--period <length>', 'period, from 1h to 30d (default: 30d)', durationMs('--period'));
  return command.action(async (instanceId: string) => {
    const { admin, options } = await openAdmin<StatsOptions>(command, shell);
    const { period } = options;
    const stats = await admin.instances.stats(instanceId, period === undefined ? {} : { period: period / MS_PER_SECOND });
    if (options.json) return screen.write(json(stats));
    const rows = stats.months.map(({ month, messages, dollars }) => [month, messages, dollars]);
    screen.write(table(screen, ['MONTH (UTC)', 'MESSAGES', 'DOLLARS'], rows));
    screen.write(`\n${stats.spent} dollars spent this month; budget: ${budgetText(stats.budget)}\n`);
    screen.write(`${countText(stats.requests_today, 'run')} started today (UTC).\n`);
    const { account_bytes, instance_bytes, max_bytes, active_runs, max_active_runs } = stats.storage;
    screen.write(`${instance_bytes} bytes stored, ${account_bytes} by its account; limit: ${max_bytes ?? 'none'}\n`);
    screen.write(`${countText(active_runs, 'active run')} of its account; limit: ${max_active_runs ?? 'none'}\n`);
    for (const refusal of stats.refused) screen.write(`Rejected: ${printable(refusal)}.\n`);
    if (stats.refusals.length === 0) return;
    const refusalRows = stats.refusals.map(({ kind, count, last_time }) => [kind, count, instant(last_time * MS_PER_SECOND)]);
    screen.write(`\n${table(screen, ['REJECTED', 'COUNT', 'LAST'], refusalRows)}`);
  });
}

interface UsageOptions extends AdminOptions {
  readonly days?: number;
}

function usageCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('usage'))
    .description('Show the daily usage of a queue instance (UTC) and its budget.')
    .argument('<instanceId>', 'id of the queue instance')
    .option('--days <number>', 'number of days including today, up to 366 (default: 30)', wholeNumber('--days', 1));
  return command.action(async (instanceId: string) => {
    const { admin, options } = await openAdmin<UsageOptions>(command, shell);
    const usage = await admin.instances.usage(instanceId, { days: options.days });
    if (options.json) return screen.write(json(usage));
    const rows = usage.days.map(({ day, messages, dollars }) => [day, messages, dollars]);
    screen.write(table(screen, ['DAY (UTC)', 'MESSAGES', 'DOLLARS'], rows));
    screen.write(`\n${usage.spent_this_month} dollars spent this month; budget: ${budgetText(usage.budget)}\n`);
  });
}

/** Returns the command for queue instances. Its alias is its name in earlier versions. */
export function instancesCommand(shell: Shell): Command {
  const instances = new Command('instances')
    .alias('queues')
    .description('Manage queue instances.')
    .addCommand(listCommand(shell))
    .addCommand(
      instanceCommand(shell, 'get', 'Show a queue instance, with its tokens if your role permits it.', (admin, id) =>
        admin.instances.get(id),
      ),
    )
    .addCommand(createCommand(shell))
    .addCommand(deleteCommand(shell))
    .addCommand(
      instanceCommand(
        shell,
        'rotate-tokens',
        'Issue new tokens and print them. The previous tokens become invalid.',
        (admin, id) => admin.instances.rotateTokens(id),
      ),
    );
  for (const change of CHANGES) instances.addCommand(changeCommand(shell, change));
  for (const command of outboundCommands(shell)) instances.addCommand(command);
  return instances.addCommand(statsCommand(shell)).addCommand(usageCommand(shell));
}
