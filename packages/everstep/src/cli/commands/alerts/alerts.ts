/** `everstep alerts list|destinations|rules|webhooks` */
import type {
  AlertCondition,
  AlertDestinationKind,
  AlertKind,
  AlertListOptions,
  LifecycleEvent,
  QuietHours,
} from '@everstep/sdk';
import { Command, Option } from 'commander';
import { collectValue, durationMs, wholeNumber } from '../../arguments.js';
import { UsageError } from '../../exit-codes.js';
import { instant, json, type Shell, shorten, table } from '../../output.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';

const MAX_SUMMARY_LENGTH = 80;
const ALL_EVENTS: readonly LifecycleEvent[] = ['run.started', 'run.succeeded', 'run.failed', 'run.canceled'];

interface ListOptions extends ClientOptions, AlertListOptions {}

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('list'))
    .description('List alerts, newest first.')
    .addOption(new Option('--state <state>', 'only alerts in this state').choices(['open', 'ended']))
    .option('--cursor <cursor>', 'cursor printed by the previous page');
  return command.action(async () => {
    const { client, options } = await openClient<ListOptions>(command, shell);
    const page = await client.alerts.list({ state: options.state, cursor: options.cursor });
    if (options.json) return screen.write(json(page));
    if (page.alerts.length === 0) return screen.write('No alerts.\n');
    const rows = page.alerts.map((alert) => [
      alert.rule,
      instant(alert.openedAt),
      alert.endedAt === undefined ? 'open' : instant(alert.endedAt),
      alert.occurrences,
      shorten(alert.summary, MAX_SUMMARY_LENGTH),
    ]);
    screen.write(table(screen, ['RULE', 'OPENED (UTC)', 'ENDED (UTC)', 'COUNT', 'SUMMARY'], rows));
    if (page.cursor !== '') screen.write(`next page: --cursor ${page.cursor}\n`);
  });
}

/** Returns a command that deletes an object by its name. `target` is the object in the description. */
function deleteCommand(shell: Shell, target: string, collection: 'destinations' | 'rules' | 'webhooks'): Command {
  const { screen } = shell;
  const command = withConnection(new Command('delete')).description(`Delete ${target}.`).argument('<name>', 'name');
  return command.action(async (name: string) => {
    const { client, options } = await openClient(command, shell);
    await client.alerts[collection].delete(name);
    screen.write(options.json ? json({ deleted: 1 }) : '1 deleted\n');
  });
}

function listDestinationsCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('list')).description('List destinations of notices.');
  return command.action(async () => {
    const { client, options } = await openClient(command, shell);
    const destinations = await client.alerts.destinations.list();
    if (options.json) return screen.write(json({ destinations }));
    if (destinations.length === 0) return screen.write('No destinations.\n');
    const rows = destinations.map(({ name, kind, url }) => [name, kind, url]);
    screen.write(table(screen, ['NAME', 'KIND', 'URL'], rows));
  });
}

interface PutDestinationOptions extends ClientOptions {
  readonly kind: AlertDestinationKind;
  readonly rotateSecret?: true;
}

function putDestinationCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('put'))
    .description('Create or replace a destination. Prints the secret of a new webhook, which cannot be read again.')
    .argument('<name>', 'name')
    .argument('<destinations...>', 'URL that receives the notices, or email addresses')
    .requiredOption('--kind <kind>', 'webhook, slack or email')
    .option('--rotate-secret', 'create a new secret for an existing webhook');
  return command.action(async (name: string, destinations: readonly string[]) => {
    const { client, options } = await openClient<PutDestinationOptions>(command, shell);
    const { kind, rotateSecret } = options;
    const [url, ...extraArguments] = destinations;
    if (kind !== 'email' && extraArguments.length > 0) throw new UsageError(`a destination of the kind ${kind} has one URL`);
    const address = kind === 'email' ? { to: destinations } : { url };
    const destination = await client.alerts.destinations.put(name, { kind, ...address, rotateSecret });
    if (options.json) return screen.write(json(destination));
    screen.write(destination.secret === undefined ? `${destination.name} was saved\n` : `secret: ${destination.secret}\n`);
  });
}

function testDestinationCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('test'))
    .description('Send a test notice to a destination, and print the message id.')
    .argument('<name>', 'name');
  return command.action(async (name: string) => {
    const { client, options } = await openClient(command, shell);
    const notice = await client.alerts.destinations.test(name);
    screen.write(options.json ? json(notice) : `${notice.messageId}\n`);
  });
}

function listRulesCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('list')).description('List alert rules.');
  return command.action(async () => {
    const { client, options } = await openClient(command, shell);
    const rules = await client.alerts.rules.list();
    if (options.json) return screen.write(json({ rules }));
    if (rules.length === 0) return screen.write('No alert rules.\n');
    const rows = rules.map(({ name, enabled, condition: { kind, ...fields }, destinations }) => [
      name,
      enabled ? 'yes' : 'no',
      kind,
      Object.entries(fields)
        .map(([field, value]) => `${field}=${value}`)
        .join(' '),
      destinations.join(', '),
    ]);
    screen.write(table(screen, ['NAME', 'ENABLED', 'KIND', 'CONDITION', 'DESTINATIONS'], rows));
  });
}

interface PutRuleOptions extends ClientOptions {
  readonly kind: AlertKind;
  readonly to?: readonly string[];
  readonly workflow?: string;
  readonly label?: string;
  readonly endAfter?: number;
  readonly percent?: number;
  readonly window?: number;
  readonly minRuns?: number;
  readonly flowControlKey?: string;
  readonly queue?: string;
  readonly maxAge?: number;
  readonly for?: number;
  readonly quiet?: QuietHours;
  readonly disabled?: true;
}

function conditionOf(options: PutRuleOptions): AlertCondition {
  const { kind, workflow, label, endAfter, percent, window, minRuns, flowControlKey, queue, maxAge } = options;
  return {
    ...{ kind, workflowUrl: workflow, label, endAfterMs: endAfter, percent, windowMs: window, minRuns, flowControlKey, queue },
    ...{ maxAgeMs: maxAge, forMs: options.for },
  };
}

/** Parses `22:00-07:00 Europe/Berlin`. The server checks the parts. */
function parseQuietHours(text: string): QuietHours {
  const [, from, to, timeZone] = /^(\d\d:\d\d)-(\d\d:\d\d) (\S+)$/.exec(text) ?? [];
  if (from === undefined || to === undefined || timeZone === undefined)
    throw new UsageError(`--quiet must have the form "22:00-07:00 Europe/Berlin"; got "${text}"`);
  return { from, to, timeZone };
}

function putRuleCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('put'))
    .description('Create or replace an alert rule.')
    .argument('<name>', 'name')
    .requiredOption('--kind <kind>', 'what the rule watches, such as run-failed')
    .option('--to <destination>', 'destination to notify; may be repeated', collectValue)
    .option('--workflow <url>', 'only this workflow')
    .option('--label <label>', 'only runs with this label')
    .option('--end-after <duration>', 'time without a failure after which the alert ends', durationMs('--end-after'))
    .option('--percent <number>', 'percentage of failed runs, or of the budget', wholeNumber('--percent', 1))
    .option('--window <duration>', 'window of a failure rate', durationMs('--window'))
    .option('--min-runs <number>', 'minimum number of runs in the window', wholeNumber('--min-runs', 1))
    .option('--flow-control-key <key>', 'flow control key, for the kind pending-age')
    .option('--queue <name>', 'queue, for the kind pending-age')
    .option('--max-age <duration>', 'age of a delivery or of a run', durationMs('--max-age'))
    .option('--for <duration>', 'time for which a schedule is late or a worker is missing', durationMs('--for'))
    .option('--quiet <hours>', 'quiet hours, such as "22:00-07:00 Europe/Berlin"', parseQuietHours)
    .option('--disabled', 'keep the rule without evaluating it');
  return command.action(async (name: string) => {
    const { client, options } = await openClient<PutRuleOptions>(command, shell);
    const rule = await client.alerts.rules.put(name, {
      condition: conditionOf(options),
      destinations: options.to ?? [],
      enabled: options.disabled !== true,
      quietHours: options.quiet,
    });
    screen.write(options.json ? json(rule) : `${rule.name} was saved\n`);
  });
}

function listWebhooksCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('list')).description('List lifecycle webhooks.');
  return command.action(async () => {
    const { client, options } = await openClient(command, shell);
    const webhooks = await client.alerts.webhooks.list();
    if (options.json) return screen.write(json({ webhooks }));
    if (webhooks.length === 0) return screen.write('No lifecycle webhooks.\n');
    const rows = webhooks.map(({ name, enabled, events, workflowUrl, label, destination }) => [
      name,
      enabled ? 'yes' : 'no',
      events.join(', '),
      workflowUrl,
      label,
      destination,
    ]);
    screen.write(table(screen, ['NAME', 'ENABLED', 'EVENTS', 'WORKFLOW', 'LABEL', 'DESTINATION'], rows));
  });
}

interface PutWebhookOptions extends ClientOptions {
  readonly event?: readonly LifecycleEvent[];
  readonly to: string;
  readonly workflow?: string;
  readonly label?: string;
  readonly disabled?: true;
}

function putWebhookCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('put'))
    .description('Create or replace a lifecycle webhook.')
    .argument('<name>', 'name')
    .requiredOption('--to <destination>', 'destination of the kind webhook')
    .option('--event <event>', `event, may be repeated: ${ALL_EVENTS.join(', ')} (default: all)`, collectValue)
    .option('--workflow <url>', 'only this workflow')
    .option('--label <label>', 'only runs with this label')
    .option('--disabled', 'keep the webhook without sending notices');
  return command.action(async (name: string) => {
    const { client, options } = await openClient<PutWebhookOptions>(command, shell);
    const webhook = await client.alerts.webhooks.put(name, {
      events: options.event ?? ALL_EVENTS,
      destination: options.to,
      workflowUrl: options.workflow,
      label: options.label,
      enabled: options.disabled !== true,
    });
    screen.write(options.json ? json(webhook) : `${webhook.name} was saved\n`);
  });
}

export function alertsCommand(shell: Shell): Command {
  return new Command('alerts')
    .description('Manage alert rules, destinations and lifecycle webhooks.')
    .addCommand(listCommand(shell))
    .addCommand(
      new Command('destinations')
        .description('Manage destinations of notices.')
        .addCommand(listDestinationsCommand(shell))
        .addCommand(putDestinationCommand(shell))
        .addCommand(testDestinationCommand(shell))
        .addCommand(deleteCommand(shell, 'a destination', 'destinations')),
    )
    .addCommand(
      new Command('rules')
        .description('Manage alert rules.')
        .addCommand(listRulesCommand(shell))
        .addCommand(putRuleCommand(shell))
        .addCommand(deleteCommand(shell, 'an alert rule. Its open alerts end', 'rules')),
    )
    .addCommand(
      new Command('webhooks')
        .description('Manage lifecycle webhooks.')
        .addCommand(listWebhooksCommand(shell))
        .addCommand(putWebhookCommand(shell))
        .addCommand(deleteCommand(shell, 'a lifecycle webhook', 'webhooks')),
    );
}
