/** `everstep workers` */
import type { Client, UnservedWorkflow, WorkerEntry } from '@everstep/sdk';
import { Command } from 'commander';
import { type Cell, instant, json, type Shell, shorten, table } from '../../output.js';
import { type ClientOptions, openClient, withConnection } from '../connection-options.js';

const PAGE_SIZE = 200;
const MAX_WORKFLOWS_LENGTH = 50;
const MAX_ERROR_LENGTH = 60;
const HEAD = ['APP', 'WORKFLOWS', 'HOST', 'VERSION', 'SINCE (UTC)', 'IN FLIGHT / CAPACITY', 'LAST ERROR'] as const;
const UNSERVED_HEAD = ['WAITING FOR A WORKER', 'SINCE (UTC)', 'DELIVERIES'] as const;

interface WorkerList {
  readonly workers: readonly WorkerEntry[];
  readonly unserved: readonly UnservedWorkflow[];
}

/** Reads all pages. The server limits the number of connections. */
async function readAll(client: Client, app: string | undefined): Promise<WorkerList> {
  const workers: WorkerEntry[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await client.workers.list({ app, count: PAGE_SIZE, cursor });
    workers.push(...page.workers);
    if (page.cursor === undefined) return { workers, unserved: page.unserved };
    cursor = page.cursor;
  }
}

function rowOf({ app, workflows, workflowCount, draining, ...worker }: WorkerEntry): readonly Cell[] {
  const workflowNames = shorten(workflows.join(', '), MAX_WORKFLOWS_LENGTH);
  const isComplete = workflows.length === workflowCount && workflows.join(', ').length <= MAX_WORKFLOWS_LENGTH;
  return [
    app,
    isComplete ? workflowNames : `${workflowNames} (${workflowCount})`,
    worker.host,
    worker.version,
    instant(worker.connectedAt),
    `${worker.inFlight} / ${worker.maxConcurrency}${draining ? ' (draining)' : ''}`,
    worker.lastError === undefined ? undefined : shorten(worker.lastError, MAX_ERROR_LENGTH),
  ];
}

export function workersCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('workers'))
    .description('List the connected workers, and the workflows whose deliveries wait for one.')
    .option('--app <name>', 'workers of this app');
  return command.action(async () => {
    const { client, options } = await openClient<ClientOptions & { readonly app?: string }>(command, shell);
    const { workers, unserved } = await readAll(client, options.app);
    if (options.json) return screen.write(json({ workers, unserved }));
    screen.write(workers.length === 0 ? 'No worker is connected.\n' : table(screen, HEAD, workers.map(rowOf)));
    if (unserved.length === 0) return;
    const rows = unserved.map(({ workflowUrl, since, waitListSize }) => [workflowUrl, instant(since), waitListSize]);
    screen.write(`\n${table(screen, UNSERVED_HEAD, rows)}`);
  });
}
