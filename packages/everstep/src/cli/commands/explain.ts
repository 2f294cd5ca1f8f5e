/** `everstep runs explain <id>` */
import type { RunExplanation } from '@everstep/sdk';
import { Command } from 'commander';
import { moment } from '../arguments.js';
import { json, printable, type Screen, type Shell, styled } from '../output.js';
import { type ClientOptions, open, withConnection } from './connection-options.js';

const SUBJECTS: Readonly<Record<RunExplanation['tasks'][number]['what'], string>> = {
  workflow: 'the code of the workflow',
  step: 'a step',
  'failure-callback': 'the failure callback',
};

/** What the run waits for, in the order in which it has to come true. */
function show(screen: Screen, { workflowRunId, workflowState, summary, tasks }: RunExplanation): void {
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
    .description('Explain why a run is where it is: what it waits for now.')
    .argument('<runId>', 'id of the run')
    .option('--created-at <instant>', 'which one, when runs share an id (Unix ms)', moment('--created-at'));
  return command.action(async (runId: string) => {
    const { client, options } = await open<ClientOptions & { readonly createdAt?: number }>(command, shell);
    const explanation = await client.runs.explain(runId, { workflowCreatedAt: options.createdAt });
    if (options.json) screen.write(json(explanation));
    else show(screen, explanation);
  });
}
