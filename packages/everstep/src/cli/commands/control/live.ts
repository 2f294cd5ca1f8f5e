/** `everstep live` and `everstep nodes` */
import { EverstepError, type LiveChange } from '@everstep/sdk';
import { Command } from 'commander';
import { instant, json, jsonLine, printable, type Shell, table } from '../../output.js';
import { waitForSignal } from '../../shutdown.js';
import { openClient, withConnection } from '../connection-options.js';

const RETRY_DELAY_MS = 1_000;

/** Formats a change in one line: the time, the changed topics and their runs. */
function changeLine({ topics, runIds }: LiveChange): string {
  const runs = runIds.length === 0 ? '' : `  ${runIds.map(printable).join(' ')}`;
  return `${instant(Date.now())}  ${topics.join(' ')}${runs}\n`;
}

/** Resolves when `signal` aborts or the time has passed. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(finish, ms);
    function finish() {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    }
    signal.addEventListener('abort', finish);
  });

/** Returns whether a retry after this error cannot succeed. */
const isFinal = (error: unknown): boolean =>
  !(error instanceof EverstepError) || (error.status >= 400 && error.status < 500 && error.status !== 429);

export function liveCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('live'))
    .description('Print changes in the queue instance as they happen, until Ctrl-C. With --json, one JSON line per change.')
    .option('--once', 'exit after the first change');
  return command.action(async () => {
    const { client, options } = await openClient<{ readonly json?: boolean; readonly once?: boolean }>(command, shell);
    const stopController = new AbortController();
    void waitForSignal().then(() => stopController.abort());
    for (let isFirst = true; !stopController.signal.aborted; isFirst = false) {
      try {
        for await (const change of client.live.changes({ signal: stopController.signal })) {
          screen.write(options.json ? jsonLine(change) : changeLine(change));
          if (options.once) return;
        }
      } catch (error) {
        if (isFirst || isFinal(error)) throw error;
        shell.printError(`${printable(error instanceof Error ? error.message : String(error))}, retrying\n`);
      }
      // The stream ends if the server stops or a proxy closes the connection.
      await pause(RETRY_DELAY_MS, stopController.signal);
    }
  });
}

export function nodesCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('nodes')).description('List the nodes of the installation and the work of each.');
  return command.action(async () => {
    const { client, options } = await openClient(command, shell);
    const nodes = await client.live.nodes();
    if (options.json) {
      screen.write(json({ nodes }));
      return;
    }
    const rows = nodes.map((node) => [
      node.self ? `${node.nodeId} *` : node.nodeId,
      node.host,
      node.version,
      instant(node.startedAt),
      node.leaving ? 'leaving' : instant(node.leaseUntil),
      node.runsClaimed,
      node.gates,
    ]);
    screen.write(table(screen, ['NODE', 'HOST', 'VERSION', 'SINCE (UTC)', 'LEASE UNTIL', 'DELIVERIES', 'GATES'], rows));
  });
}
