/**
 * Opens a PostgreSQL server for tests: the server at the URL in EVERSTEP_TEST_POSTGRES (`none` disables it), or a new one that ends
 * with this process. `npm test` starts one for all test files (scripts/tests/run.mjs).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export type TestServer =
  | {
      readonly kind: 'running';
      /** URL with a superuser and an existing database. */
      readonly url: string;
      /** Description of the server. */
      readonly what: string;
      /** Stops the server if it was started here. It also stops when this process ends, however it ends. */
      stop(): Promise<void>;
    }
  /** There is no server. `why` is the reason, for display. */
  | { readonly kind: 'missing'; readonly why: string };

export const VARIABLE = 'EVERSTEP_TEST_POSTGRES';

/** Starts a server regardless of the environment. */
export async function startTestServer(): Promise<TestServer> {
  const keeper = fileURLToPath(new URL('./server-keeper.js', import.meta.url));
  // The keeper is detached, so that Ctrl-C ends only this process. The keeper detects that and stops the server.
  const child = spawn(process.execPath, [keeper], { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([once(lines, 'line'), once(child, 'exit').then(() => ['{}'])]);
  const { url, version, missing }: { url?: unknown; version?: unknown; missing?: unknown } = JSON.parse(String(line));
  if (typeof url !== 'string') return { kind: 'missing', why: String(missing ?? 'the server process ended without a report') };
  lines.close();
  // The server alone must not keep this process alive.
  for (const handle of [child, child.stdin, child.stdout]) if ('unref' in handle) (handle as { unref(): void }).unref();
  return {
    kind: 'running',
    url,
    what: `${String(version)}, started for these tests`,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.ref();
      const exit = once(child, 'exit');
      child.stdin.end();
      await exit;
    },
  };
}

/** Opens the server that the environment names, or starts a new one. */
export async function openTestServer(env: NodeJS.ProcessEnv = process.env): Promise<TestServer> {
  const url = env[VARIABLE];
  if (!url) return startTestServer();
  if (url === 'none') return { kind: 'missing', why: `${VARIABLE} is "none"` };
  return { kind: 'running', url, what: `the server that ${VARIABLE} names`, stop: async () => {} };
}
