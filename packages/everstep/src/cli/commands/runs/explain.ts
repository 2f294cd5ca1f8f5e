/** `everstep runs explain <id>` */
import type { RunExplanation } from '@everstep/sdk';
import { Command } from 'commander';
import { timestampMs } from '../../arguments.js';
import { json, printable, type Screen, type Shell, styled } from '../../output.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';

const SUBJECTS: Readonly<Record<RunExplanation['tasks'][number]['what'], string>> = {
  workflow: 'the workflow code',
  step: 'a step',
  message: 'the message',
  'failure-callback': 'the failure callback',
};

/** Prints the reasons why a run waits, in the order in which they must be resolved. */
function showExplanation(screen: Screen, { workflowRunId, workflowState, summary, tasks }: RunExplanation): void {
  screen.write(`${workflowRunId} ${workflowState}\n${printable(summary)}\n`);
  for (const { stepName, stepType, what, reasons } of tasks) {
    const subject = stepName === undefined ? SUBJECTS[what] : `${printable(stepName)}${stepType ? ` (${stepType})` : ''}`;
    screen.write(`\n${styled(screen, 'bold', subject)}\n`);
    reasons.forEach(({ message }, index) => {
      const number = reasons.length > 1 ? `${index + 1}. ` : '';
      screen.write(`  ${number}${printable(message)}\n`);
    });
  }
}

export function explainCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('explain'))
    .description('Explain what a run is waiting for.')
    .argument('<runId>', 'id of the run')
    .option('--created-at <instant>', 'creation time, if several runs share the id (Unix ms)', timestampMs('--created-at'));
  return command.action(async (runId: string) => {
    const { client, options } = await openClient<ClientOptions & { readonly createdAt?: number }>(command, shell);
    const explanation = await client.runs.explain(runId, { workflowCreatedAt: options.createdAt });
    if (options.json) screen.write(json(explanation));
    else showExplanation(screen, explanation);
  });
}
