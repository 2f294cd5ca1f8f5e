/** `everstep dlq callback retry|cancel <dlqId>` */
import { Command } from 'commander';
import { json, type Shell } from '../../output.js';
import { openClient, withConnection } from '../connection-options.js';

const VERBS = {
  retry: {
    description: 'Call the failure callback or failure function of a dead letter again.',
    call: 'retryCallback',
  },
  cancel: {
    description: 'Cancel the failure callback or failure function of a dead letter.',
    call: 'cancelCallback',
  },
} as const;

function verbCommand(shell: Shell, verb: keyof typeof VERBS): Command {
  const { screen } = shell;
  const { description, call } = VERBS[verb];
  const command = withConnection(new Command(verb)).description(description).argument('<dlqId>', 'id of the dead letter');
  return command.action(async (dlqId: string) => {
    const { client, options } = await openClient(command, shell);
    const entry = await client.dlq[call](dlqId);
    screen.write(options.json ? json(entry) : `${entry.failureFunctionState}\n`);
  });
}

export function failureCallbackCommand(shell: Shell): Command {
  return new Command('callback')
    .description('Retry or cancel failure callbacks and failure functions.')
    .addCommand(verbCommand(shell, 'retry'))
    .addCommand(verbCommand(shell, 'cancel'));
}
