/** `everstep dlq groups [list|get|acknowledge|resolve]`, and the commands in group-triage.ts. */
import type { DeadLetterGroup, DeadLetterGroupState } from '@everstep/sdk';
import { Command } from 'commander';
import { collectValue, timestampMs, wholeNumber } from '../../arguments.js';
import { UsageError } from '../../exit-codes.js';
import { instant, json, type Shell, shorten, table } from '../../output.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';
import { groupText, sourceText } from './error-text.js';
import { triageCommands } from './group-triage.js';

const STATES = ['new', 'known', 'regressed'] as const;
const KINDS = ['workflow', 'message'] as const;
const DEFAULT_COUNT = 50;
const PAGE_SIZE = 100;
/** Maximum length of a message in the list. It is long, because the cause is often at the end of a message. */
const MAX_MESSAGE_LENGTH = 500;

function collectState(text: string, previous: readonly DeadLetterGroupState[] | undefined): readonly DeadLetterGroupState[] {
  const match = STATES.find((name) => name === text);
  if (!match) throw new UsageError(`--state must be one of ${STATES.join(', ')}; got "${text}"`);
  return [...(previous ?? []), match];
}

function parseKind(text: string): DeadLetterGroup['kind'] {
  const match = KINDS.find((name) => name === text);
  if (!match) throw new UsageError(`--kind must be one of ${KINDS.join(', ')}; got "${text}"`);
  return match;
}

interface ListOptions extends ClientOptions {
  readonly state?: readonly DeadLetterGroupState[];
  readonly workflowUrl?: readonly string[];
  readonly from?: number;
  readonly to?: number;
  readonly kind?: DeadLetterGroup['kind'];
  readonly withEmpty?: boolean;
  readonly count: number;
  readonly all?: boolean;
}

function listCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('list'))
    .description('List groups of dead letters with the same error: regressed groups first, then new ones, then known ones.')
    .option('--state <state>', `groups in this state: ${STATES.join(', ')}; may be repeated`, collectState)
    .option('--workflow-url <url>', 'groups with dead letters of this workflow; may be repeated', collectValue)
    .option('--from <instant>', 'groups last seen at or after this time: Unix ms or a date', timestampMs('--from'))
    .option('--to <instant>', 'groups first seen at or before this time', timestampMs('--to'))
    .option('--kind <kind>', 'groups of runs (workflow, the default) or of plain messages (message)', parseKind)
    .option('--with-empty', 'include groups without remaining dead letters')
    .option('--count <number>', 'maximum number of groups', wholeNumber('--count', 1), DEFAULT_COUNT)
    .option('--all', 'list all groups');
  return command.action(async () => {
    const { client, options } = await openClient<ListOptions>(command, shell);
    const { state, workflowUrl, from: fromDate, to: toDate, kind, withEmpty } = options;
    const limit = options.all ? Number.POSITIVE_INFINITY : options.count;
    const groups: DeadLetterGroup[] = [];
    const filter = { state, workflowUrl, fromDate, toDate, kind, withEmpty, count: Math.min(limit, PAGE_SIZE) };
    for await (const group of client.dlq.allGroups(filter)) {
      groups.push(group);
      if (groups.length >= limit) break;
    }
    if (options.json) return screen.write(json({ groups }));
    if (groups.length === 0) return screen.write('No matching groups.\n');
    const rows = groups.map((group) => [
      group.fingerprint,
      group.state,
      group.count,
      instant(group.firstSeenAt),
      instant(group.lastSeenAt),
      group.assignment?.assignee ?? null,
      group.snooze && group.snooze.until > Date.now() ? instant(group.snooze.until) : null,
      group.stepName,
      group.responseStatus,
      group.latest?.source ? sourceText(group.latest.source) : null,
      shorten(group.latest?.message ?? group.message, MAX_MESSAGE_LENGTH),
    ]);
    const seenTitles = ['FIRST SEEN (UTC)', 'LAST SEEN (UTC)'];
    const triageTitles = ['ASSIGNEE', 'SNOOZED UNTIL (UTC)'];
    const head = ['GROUP', 'STATE', 'ENTRIES', ...seenTitles, ...triageTitles, 'STEP', 'STATUS', 'WHERE', 'ERROR'];
    screen.write(table(screen, head, rows));
  });
}

function getCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('get'))
    .description('Show a group of dead letters.')
    .argument('<fingerprint>', 'fingerprint of the group');
  return command.action(async (fingerprint: string) => {
    const { client, options } = await openClient(command, shell);
    const group = await client.dlq.group(fingerprint);
    screen.write(options.json ? json(group) : groupText(screen, group));
  });
}

const GROUP_ACTIONS = {
  acknowledge: {
    description: 'Acknowledge a group: its state changes to known.',
    call: 'acknowledgeGroup',
    outcome: 'acknowledged',
  },
  resolve: {
    description: 'Mark the cause of a group as fixed: a new dead letter changes its state to regressed.',
    call: 'resolveGroup',
    outcome: 'resolved',
  },
} as const;

function groupActionCommand(shell: Shell, verb: keyof typeof GROUP_ACTIONS): Command {
  const { screen } = shell;
  const { description, call, outcome } = GROUP_ACTIONS[verb];
  const command = withConnection(new Command(verb))
    .description(description)
    .argument('<fingerprint>', 'fingerprint of the group');
  return command.action(async (fingerprint: string) => {
    const { client, options } = await openClient(command, shell);
    const group = await client.dlq[call](fingerprint);
    screen.write(options.json ? json(group) : `${fingerprint} ${outcome}\n`);
  });
}

export function deadLetterGroupsCommand(shell: Shell): Command {
  const command = new Command('groups')
    .description('Groups of dead letters with the same step, status and error (default command: list).')
    .addCommand(listCommand(shell), { isDefault: true })
    .addCommand(getCommand(shell))
    .addCommand(groupActionCommand(shell, 'acknowledge'))
    .addCommand(groupActionCommand(shell, 'resolve'));
  for (const subcommand of triageCommands(shell)) command.addCommand(subcommand);
  return command;
}
