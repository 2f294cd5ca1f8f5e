/** `everstep live` and `everstep nodes` */
import { EverstepError, type LiveChange } from '@everstep/sdk';
import { Command } from 'commander';
import { instant, json, printable, type Shell, table } from '../output.js';
import { untilSignal } from '../shutdown.js';
import { open, withConnection } from './connection-options.js';

const AGAIN_MS = 1_000;

/** When it came, what has changed, and the runs of it. */
function line({ topics, runIds }: LiveChange): string {
  const runs = runIds.length === 0 ? '' : `  ${runIds.map(printable).join(' ')}`;
  return `${instant(Date.now())}  ${topics.join(' ')}${runs}\n`;
}

/** Resolves when `signal` aborts, at once or after a while. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done);
  });

/** What says that it makes no sense to try again. */
const isFinal = (error: unknown): boolean =>
  !(error instanceof EverstepError) || (error.status >= 400 && error.status < 500 && error.status !== 429);

export function liveCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('live'))
    .description('Print what changes in the queue instance as it happens, until Ctrl-C; with --json a line of JSON for each.')
    .option('--once', 'end after the first change');
  return command.action(async () => {
    const { client, options } = await open<{ readonly json?: boolean; readonly once?: boolean }>(command, shell);
    const stop = new AbortController();
    void untilSignal().then(() => stop.abort());
    for (let isFirst = true; !stop.signal.aborted; isFirst = false) {
      try {
        for await (const change of client.live.changes({ signal: stop.signal })) {
          screen.write(options.json ? `${JSON.stringify(change)}\n` : line(change));
          if (options.once) return;
        }
      } catch (error) {
        if (isFirst || isFinal(error)) throw error;
        shell.complain(`${error instanceof Error ? error.message : String(error)}; trying again\n`);
      }
      // The service has stopped, or a proxy has had enough.
      await pause(AGAIN_MS, stop.signal);
    }
  });
}

export function nodesCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withConnection(new Command('nodes')).description(
    'List the processes of the service, and what each has taken on.',
  );
  return command.action(async () => {
    const { client, options } = await open(command, shell);
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
