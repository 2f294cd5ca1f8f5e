/** The server under test and its worker, as separate processes. This process is their client. */
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

export const SERVICE_BIN = fileURLToPath(new URL('../../packages/everstep/dist/cli/bin.js', import.meta.url));
const WORKERS = {
  everstep: fileURLToPath(new URL('./worker.js', import.meta.url)),
  upstash: fileURLToPath(new URL('./published-worker.js', import.meta.url)),
};
export const QUIET_NODE = '--disable-warning=ExperimentalWarning';
/** Directory for CPU profiles of the server; none by default. */
const PROFILE_DIRECTORY = process.env.EVERSTEP_BENCH_PROFILE;
export const PROFILE = PROFILE_DIRECTORY ? ['--cpu-prof', `--cpu-prof-dir=${PROFILE_DIRECTORY}`] : [];

export interface Engine extends Omit<EngineClient, 'close'> {
  /** One per node. */
  readonly serverPids: readonly number[];
  /** Process id of a database server started for the measurement. */
  readonly databasePids: readonly number[];
  readonly workerPid: number;
  /** For further workers. */
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

export function required(env: Readonly<Record<string, string>>, name: string): string {
  const value = env[name];
  if (!value) throw new Error(`the env file of the server has no ${name}`);
  return value;
}

export function isWorkerReady(message: unknown): message is WorkerReady {
  return typeof message === 'object' && message !== null && 'url' in message && 'controlUrl' in message;
}

/** Environment of an app. Without the keys, signatures are not verified. */
function workerEnv(
  env: Readonly<Record<string, string>>,
  { sdk, verify, via }: { readonly sdk: Sdk; readonly verify: boolean; readonly via: Transport },
): Readonly<Record<string, string>> {
  const names = (...these: readonly string[]) => Object.fromEntries(these.map((name) => [name, required(env, name)]));
  if (via === 'connection') return { ...names('EVERSTEP_URL', 'EVERSTEP_TOKEN'), EVERSTEP_BENCH_VIA: via };
  if (sdk === 'everstep') return verify ? names('EVERSTEP_CURRENT_SIGNING_KEY', 'EVERSTEP_NEXT_SIGNING_KEY') : {};
  const keys = verify ? names('QSTASH_CURRENT_SIGNING_KEY', 'QSTASH_NEXT_SIGNING_KEY') : {};
  return { ...names('QSTASH_URL', 'QSTASH_TOKEN'), ...keys };
}

const UNCHANGED: ChangedServer = { against: null, settings: {} };

export type EngineOptions = Pick<Options, 'verify' | 'limitS' | 'sdk' | 'via' | 'checkpoint' | 'store' | 'nodes' | 'database'>;

export async function startEngine(options: EngineOptions, changed: ChangedServer = UNCHANGED): Promise<Engine> {
  const { verify, limitS, sdk, via, store, nodes, checkpoint, database: given } = options;
  const directory = mkdtempSync(join(tmpdir(), 'everstep-bench-'));
  const children: ChildProcess[] = [];
  let client: EngineClient | null = null;
  let database: BenchDatabase | null = null;
  const end = async (): Promise<void> => {
    await client?.close();
    await Promise.all(children.map(stop));
    await database?.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    if (store === 'postgres') database = await openDatabase(given);
    const shared: Readonly<Record<string, string>> = database === null ? {} : { EVERSTEP_STORE: database.url };
    const dataDir = (index: number): string => join(directory, `data-${index}`);
    const services: ChildProcess[] = [];
    const startNode = async (index: number): Promise<Readonly<Record<string, string>>> => {
      // Only one node issues credentials.
      if (index > 0) cpSync(dataDir(0), dataDir(index), { recursive: true });
      const envFile = join(directory, `service-${index}.env`);
      const logFile = join(directory, `service-${index}.log`);
      const addresses = { EVERSTEP_PORT: '0', EVERSTEP_DATA_DIR: dataDir(index), EVERSTEP_ENV_FILE: envFile };
      const service = launch({
        args: [QUIET_NODE, ...PROFILE, changed.against ?? SERVICE_BIN, 'dev'],
        env: { EVERSTEP_DEMO: '0', ...addresses, ...shared, ...changed.settings },
        logFile,
      });
      children.push(service);
      services.push(service);
      return untilReady('the server', service, logFile, () => readEnvFile(envFile));
    };
    const env = await startNode(0);
    const urls = [required(env, 'EVERSTEP_URL')];
    for (let index = 1; index < nodes; index++) urls.push(required(await startNode(index), 'EVERSTEP_URL'));

    const workerLog = join(directory, 'worker.log');
    const worker = launch({
      args: [QUIET_NODE, WORKERS[sdk]],
      env: { ...workerEnv(env, { sdk, verify, via }), [CHECKPOINT_VARIABLE]: String(checkpoint) },
      logFile: workerLog,
      channel: true,
    });
    children.push(worker);
    let announced: WorkerReady | undefined;
    worker.on('message', (message) => {
      if (isWorkerReady(message)) announced = message;
    });
    const ready = await untilReady('the worker', worker, workerLog, () => announced);

    client = createEngineClient({
      urls,
      token: required(env, 'EVERSTEP_TOKEN'),
      workerUrl: ready.url,
      controlUrl: ready.controlUrl,
      sdk,
      limitS,
    });
    return {
      serverPids: services.map(processId),
      databasePids: database?.pids ?? [],
      workerPid: processId(worker),
      connection: { baseUrl: required(env, 'EVERSTEP_URL'), token: required(env, 'EVERSTEP_TOKEN') },
      ...client,
      stop: end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}
