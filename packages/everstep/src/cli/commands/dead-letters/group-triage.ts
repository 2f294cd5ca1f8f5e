/** `everstep dlq groups assignees|assign|unassign|snooze|unsnooze|note|delete-note` */
import type { Client, DeadLetterGroup } from '@everstep/sdk';
import { Command } from 'commander';
import { durationMs } from '../../arguments.js';
import { instant, json, printable, type Shell } from '../../output.js';
import { openClient, withConnection } from '../connection-options.js';

/** A command that changes a group. */
interface Change {
  readonly name: string;
  readonly description: string;
  /** Name and description of a second argument, after the fingerprint. */
  readonly argument?: readonly [name: string, description: string];
  apply(client: Client, fingerprint: string, value: string): Promise<DeadLetterGroup>;
  /** Returns what follows the fingerprint in the output. */
  resultText(group: DeadLetterGroup): string;
}

const CHANGES: readonly Change[] = [
  {
    name: 'assign',
    description: 'Assign a user to a group.',
    argument: ['email', 'user with access to the queue instance'],
    apply: ({ dlq }, fingerprint, email) => dlq.assignGroup(fingerprint, email),
    resultText: ({ assignment }) => `assigned to ${assignment?.assignee ?? ''}`,
  },
  {
    name: 'unassign',
    description: 'Remove the assignment of a group.',
    apply: ({ dlq }, fingerprint) => dlq.assignGroup(fingerprint, null),
    resultText: () => 'has no assignee',
  },
  {
    name: 'snooze',
    description: 'Snooze a group: for this time it needs no attention and raises no alert, unless it regresses.',
    argument: ['duration', 'such as 4h or 7d, at most 90d'],
    apply: ({ dlq }, fingerprint, duration) => dlq.snoozeGroup(fingerprint, Date.now() + durationMs('<duration>')(duration)),
    resultText: ({ snooze }) => `snoozed until ${snooze ? instant(snooze.until) : ''} UTC`,
  },
  {
    name: 'unsnooze',
    description: 'End the snooze of a group.',
    apply: ({ dlq }, fingerprint) => dlq.snoozeGroup(fingerprint, null),
    resultText: () => 'is not snoozed',
  },
  {
    name: 'note',
    description: 'Add a note to a group.',
    argument: ['text', 'at most 1,000 characters'],
    apply: ({ dlq }, fingerprint, text) => dlq.addGroupNote(fingerprint, text),
    resultText: ({ notes }) => `has the note ${notes[0]?.noteId ?? ''}`,
  },
  {
    name: 'delete-note',
    description: 'Delete a note of a group.',
    argument: ['noteId', 'id of the note, as shown by get'],
    apply: ({ dlq }, fingerprint, noteId) => dlq.deleteGroupNote(fingerprint, noteId),
    resultText: ({ noteCount }) => `has ${noteCount} ${noteCount === 1 ? 'note' : 'notes'}`,
  },
];

function changeCommand(shell: Shell, { name, description, argument, apply, resultText }: Change): Command {
  const { screen } = shell;
  const command = withConnection(new Command(name))
    .description(description)
    .argument('<fingerprint>', 'fingerprint of the group');
  if (argument) command.argument(`<${argument[0]}>`, argument[1]);
  return command.action(async (fingerprint: string, value: unknown) => {
    const { client, options } = await openClient(command, shell);
    const group = await apply(client, fingerprint, typeof value === 'string' ? value : '');
    screen.write(options.json ? json(group) : `${fingerprint} ${resultText(group)}\n`);
  });
}

function assigneesCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('assignees')).description('List users who can be assigned to groups.');
  return command.action(async () => {
    const { client, options } = await openClient(command, shell);
    const assignees = await client.dlq.assignees();
    screen.write(
      options.json ? json({ assignees }) : assignees.map((email) => `${printable(email)}\n`).join('') || 'No users.\n',
    );
  });
}

export const triageCommands = (shell: Shell): readonly Command[] => [
  assigneesCommand(shell),
  ...CHANGES.map((change) => changeCommand(shell, change)),
];
