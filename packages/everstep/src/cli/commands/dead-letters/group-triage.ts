/** `everstep dlq groups assignees|assign|unassign|snooze|unsnooze|note|delete-note` */
import type { Client, DeadLetterGroup } from '@everstep/sdk';
import { Command } from 'commander';
import { durationMs } from '../../arguments.js';
import { instant, json, type Shell } from '../../output.js';
import { open, withConnection } from '../connection-options.js';

interface Change {
  readonly name: string;
  readonly description: string;
  /** Argument besides the fingerprint: its name and its description. Absent: none. */
  readonly argument?: readonly [name: string, description: string];
  change(client: Client, fingerprint: string, given: string): Promise<DeadLetterGroup>;
  done(group: DeadLetterGroup): string;
}

const CHANGES: readonly Change[] = [
  {
    name: 'assign',
    description: 'Assign a user to a group.',
    argument: ['email', 'user with access to the queue instance'],
    change: ({ dlq }, fingerprint, email) => dlq.assignGroup(fingerprint, email),
    done: ({ assignment }) => `assigned to ${assignment?.assignee ?? ''}`,
  },
  {
    name: 'unassign',
    description: 'Remove the assignment of a group.',
    change: ({ dlq }, fingerprint) => dlq.assignGroup(fingerprint, null),
    done: () => 'has no assignee',
  },
  {
    name: 'snooze',
    description: 'Snooze a group: until then it needs no attention and raises no alert, unless it regresses.',
    argument: ['duration', 'such as 4h or 7d, at most 90d'],
    change: ({ dlq }, fingerprint, duration) => dlq.snoozeGroup(fingerprint, Date.now() + durationMs('<duration>')(duration)),
    done: ({ snooze }) => `snoozed until ${snooze ? instant(snooze.until) : ''} UTC`,
  },
  {
    name: 'unsnooze',
    description: 'End the snooze of a group.',
    change: ({ dlq }, fingerprint) => dlq.snoozeGroup(fingerprint, null),
    done: () => 'is not snoozed',
  },
  {
    name: 'note',
    description: 'Add a note to a group.',
    argument: ['text', 'at most 1,000 characters'],
    change: ({ dlq }, fingerprint, text) => dlq.addGroupNote(fingerprint, text),
    done: ({ notes }) => `has the note ${notes[0]?.noteId ?? ''}`,
  },
  {
    name: 'delete-note',
    description: 'Delete a note of a group.',
    argument: ['noteId', 'id of the note, as in get'],
    change: ({ dlq }, fingerprint, noteId) => dlq.deleteGroupNote(fingerprint, noteId),
    done: ({ noteCount }) => `has ${noteCount} ${noteCount === 1 ? 'note' : 'notes'}`,
  },
];

function changeCommand(shell: Shell, { name, description, argument, change, done }: Change): Command {
  const { screen } = shell;
  const command = withConnection(new Command(name))
    .description(description)
    .argument('<fingerprint>', 'fingerprint of the group');
  if (argument) command.argument(`<${argument[0]}>`, argument[1]);
  return command.action(async (fingerprint: string, given: unknown) => {
    const { client, options } = await open(command, shell);
    const group = await change(client, fingerprint, typeof given === 'string' ? given : '');
    screen.write(options.json ? json(group) : `${fingerprint} ${done(group)}\n`);
  });
}

function assigneesCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('assignees')).description('List users who can be assigned to groups.');
  return command.action(async () => {
    const { client, options } = await open(command, shell);
    const assignees = await client.dlq.assignees();
    screen.write(options.json ? json({ assignees }) : assignees.map((email) => `${email}\n`).join('') || 'No users.\n');
  });
}

export const triageCommands = (shell: Shell): readonly Command[] => [
  assigneesCommand(shell),
  ...CHANGES.map((change) => changeCommand(shell, change)),
];
