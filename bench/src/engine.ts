/** Starts the server under test and its worker as separate processes. This process is their client. */
import type { ChildProcess } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, processId, stop, untilReady } from './child-process.js';
import { type BenchDatabase, openDatabase } from './database.js';
import { createEngineClient, type EngineClient } from './engine-client.js';
import { CHECKPOINT_VARIABLE, type ChangedServer, type Options, type Sdk, type Transport } from './options.js';
import type { WorkerReady } from './worker.js';

export const SERVER_BIN = fileURLToPath(new URL('../../packages/everstep/dist/cli/bin.js', import.meta.url));
const WORKERS = {
  everstep: fileURLToPath(new URL('./worker.js', import.meta.url)),
  upstash: fileURLToPath(new URL('./published-worker.js', import.meta.url)),
};
export const QUIET_FLAG = '--disable-warning=ExperimentalWarning';
/** Directory for CPU profiles of the server; undefined if none are written. */
const PROFILE_DIRECTORY = process.env.EVERSTEP_BENCH_PROFILE;
export const PROFILE_FLAGS = PROFILE_DIRECTORY ? ['--cpu-prof', `--cpu-prof-dir=${PROFILE_DIRECTORY}`] : [];

export interface Engine extends Omit<EngineClient, 'close'> {
  /** Process ids of the nodes. */
  readonly serverPids: readonly number[];
  /** Process id of a database server started for the measurement. */
  readonly databasePids: readonly number[];
  readonly workerPid: number;
  /** URL and token for further workers. */
  readonly connection: { readonly baseUrl: string; readonly token: string };
  stop(): Promise<void>;
}

/** Parses the env file, which the server writes when it is listening. */
export function readEnvFile(path: string): Readonly<Record<string, string>> | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  const pairs = text.split('\n').flatMap((line) => {
    const equals = line.indexOf('=');
    return equals < 1 ? [] : [[line.slice(0, equals), line.slice(equals + 1)] as const];
  });
  return Object.fromEntries(pairs);
}

export function requireVariable(env: Readonly<Record<string, string>>, name: string): string {
  const value = env[name];
  if (!value) throw new Error(`the env file of the server has no ${name}`);
  return value;
}

export function isWorkerReady(message: unknown): message is WorkerReady {
  return typeof message === 'object' && message !== null && 'url' in message && 'controlUrl' in message;
}

/** Returns the environment of the worker. Without the keys, it does not verify signatures. */
function workerEnv(
  env: Readonly<Record<string, string>>,
  { sdk, verify, via }: { readonly sdk: Sdk; readonly verify: boolean; readonly via: Transport },
): Readonly<Record<string, string>> {
  const pickVariables = (...variables: readonly string[]) =>
    Object.fromEntries(variables.map((name) => [name, requireVariable(env, name)]));
  if (via === 'connection') return { ...pickVariables('EVERSTEP_URL', 'EVERSTEP_TOKEN'), EVERSTEP_BENCH_VIA: via };
  if (sdk === 'everstep') return verify ? pickVariables('EVERSTEP_CURRENT_SIGNING_KEY', 'EVERSTEP_NEXT_SIGNING_KEY') : {};
  const keys = verify ? pickVariables('QSTASH_CURRENT_SIGNING_KEY', 'QSTASH_NEXT_SIGNING_KEY') : {};
  return { ...pickVariables('QSTASH_URL', 'QSTASH_TOKEN'), ...keys };
}

const SAME_SERVER: ChangedServer = { against: null, settings: {} };

export type EngineOptions = Pick<Options, 'verify' | 'limitS' | 'sdk' | 'via' | 'checkpoint' | 'store' | 'nodes' | 'database'>;

export async function startEngine(options: EngineOptions, changed: ChangedServer = SAME_SERVER): Promise<Engine> {
  const { verify, limitS, sdk, via, store, nodes, checkpoint, database: existingUrl } = options;
  const directory = mkdtempSync(join(tmpdir(), 'everstep-bench-'));
  const children: ChildProcess[] = [];
  let client: EngineClient | null = null;
  let database: BenchDatabase | null = null;
  const stopAll = async (): Promise<void> => {
    await client?.close();
    await Promise.all(children.map(stop));
    await database?.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    if (store === 'postgres') database = await openDatabase(existingUrl);
    const storeSettings: Readonly<Record<string, string>> = database === null ? {} : { EVERSTEP_STORE: database.url };
    const dataDir = (index: number): string => join(directory, `data-${index}`);
    const servers: ChildProcess[] = [];
    const startNode = async (index: number): Promise<Readonly<Record<string, string>>> => {
      // Only one node issues credentials.
      if (index > 0) cpSync(dataDir(0), dataDir(index), { recursive: true });
      const envFile = join(directory, `service-${index}.env`);
      const logFile = join(directory, `service-${index}.log`);
      const addresses = { EVERSTEP_PORT: '0', EVERSTEP_DATA_DIR: dataDir(index), EVERSTEP_ENV_FILE: envFile };
      const server = launch({
        args: [QUIET_FLAG, ...PROFILE_FLAGS, changed.against ?? SERVER_BIN, 'dev'],
        env: { EVERSTEP_DEMO: '0', ...addresses, ...storeSettings, ...changed.settings },
        logFile,
      });
      children.push(server);
      servers.push(server);
      return untilReady('the server', server, logFile, () => readEnvFile(envFile));
    };
    const env = await startNode(0);
    const urls = [requireVariable(env, 'EVERSTEP_URL')];
    for (let index = 1; index < nodes; index++) urls.push(requireVariable(await startNode(index), 'EVERSTEP_URL'));

    const workerLog = join(directory, 'worker.log');
    const worker = launch({
      args: [QUIET_FLAG, WORKERS[sdk]],
      env: { ...workerEnv(env, { sdk, verify, via }), [CHECKPOINT_VARIABLE]: String(checkpoint) },
      logFile: workerLog,
      hasChannel: true,
    });
    children.push(worker);
    let readyMessage: WorkerReady | undefined;
    worker.on('message', (message) => {
      if (isWorkerReady(message)) readyMessage = message;
    });
    const { url: workerUrl, controlUrl } = await untilReady('the worker', worker, workerLog, () => readyMessage);

    client = createEngineClient({
      urls,
      token: requireVariable(env, 'EVERSTEP_TOKEN'),
      workerUrl,
      controlUrl,
      sdk,
      limitS,
    });
    return {
      serverPids: servers.map(processId),
      databasePids: database?.pids ?? [],
      workerPid: processId(worker),
      connection: { baseUrl: requireVariable(env, 'EVERSTEP_URL'), token: requireVariable(env, 'EVERSTEP_TOKEN') },
      ...client,
      stop: stopAll,
    };
  } catch (error) {
    await stopAll();
    throw error;
  }
}
