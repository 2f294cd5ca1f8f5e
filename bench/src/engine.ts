/** The server under test and its worker, as separate processes. This process is their client. */
import type { ChildProcess } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, processId, stop, untilReady } from './child-process.js';
import { type BenchDatabase, openDatabase } from './database.js';
import { JsonClient } from './json-client.js';
import type { Options, Sdk } from './options.js';
import type { WorkerReady } from './worker.js';

export const SERVICE_BIN = fileURLToPath(new URL('../../packages/everstep/dist/cli/bin.js', import.meta.url));
const WORKERS = {
  everstep: fileURLToPath(new URL('./worker.js', import.meta.url)),
  upstash: fileURLToPath(new URL('./published-worker.js', import.meta.url)),
};
export const QUIET_NODE = '--disable-warning=ExperimentalWarning';
const CLIENT_CONNECTIONS = 128;
const MAX_SHOWN_LOG_LENGTH = 1_500;

export type WorkflowName = 'seq' | 'fan' | 'wait';

export interface Engine {
  /** One per node. */
  readonly serverPids: readonly number[];
  /** Process ID of a database server started for the measurement. */
  readonly databasePids: readonly number[];
  readonly workerPid: number;
  /** Triggers a run and waits for its result. Rejects when the result is wrong. */
  run(workflow: WorkflowName, steps: number): Promise<void>;
  /** Resolves when the run is durable. */
  trigger(workflow: WorkflowName, steps: number, settings?: Readonly<Record<string, string>>): Promise<void>;
  /** Returns how many runs wait for the event, at most 1,000. */
  waiters(event: string): Promise<number>;
  /** Resolves with the number of notified runs. */
  notify(event: string): Promise<number>;
  /** Sends a request for a flow control key. */
  flowControl(key: string, action: 'pause' | 'resume'): Promise<void>;
  /** Returns the number of waiting deliveries of the key. */
  waitListSize(key: string): Promise<number>;
  resetDone(): Promise<void>;
  /** Number of runs finished since the reset. */
  done(): Promise<number>;
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

function fieldOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Object.entries(body).find(([key]) => key === name)?.[1] : undefined;
}

/** Environment of an app. Without the keys, signatures are not verified. */
function workerEnv(env: Readonly<Record<string, string>>, sdk: Sdk, verify: boolean): Readonly<Record<string, string>> {
  const names = (...these: readonly string[]) => Object.fromEntries(these.map((name) => [name, required(env, name)]));
  if (sdk === 'everstep') return verify ? names('EVERSTEP_CURRENT_SIGNING_KEY', 'EVERSTEP_NEXT_SIGNING_KEY') : {};
  const keys = verify ? names('QSTASH_CURRENT_SIGNING_KEY', 'QSTASH_NEXT_SIGNING_KEY') : {};
  return { ...names('QSTASH_URL', 'QSTASH_TOKEN'), ...keys };
}

export type EngineOptions = Pick<Options, 'verify' | 'limitS' | 'sdk' | 'store' | 'nodes' | 'database'>;

export async function startEngine({ verify, limitS, sdk, store, nodes, database: given }: EngineOptions): Promise<Engine> {
  const directory = mkdtempSync(join(tmpdir(), 'everstep-bench-'));
  const children: ChildProcess[] = [];
  const clients: JsonClient[] = [];
  let database: BenchDatabase | null = null;
  const end = async (): Promise<void> => {
    await Promise.all(clients.map((client) => client.close()));
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
        args: [QUIET_NODE, SERVICE_BIN, 'dev'],
        env: { EVERSTEP_DEMO: '0', ...addresses, ...shared },
        logFile,
      });
      children.push(service);
      services.push(service);
      return untilReady('the service', service, logFile, () => readEnvFile(envFile));
    };
    const env = await startNode(0);
    const urls = [required(env, 'EVERSTEP_URL')];
    for (let index = 1; index < nodes; index++) urls.push(required(await startNode(index), 'EVERSTEP_URL'));

    const workerLog = join(directory, 'worker.log');
    const worker = launch({
      args: [QUIET_NODE, WORKERS[sdk]],
      env: workerEnv(env, sdk, verify),
      logFile: workerLog,
      channel: true,
    });
    children.push(worker);
    let ready: WorkerReady | undefined;
    worker.on('message', (message) => {
      if (isWorkerReady(message)) ready = message;
    });
    const { url, controlUrl } = await untilReady('the worker', worker, workerLog, () => ready);

    const apis = urls.map((address) => new JsonClient(address, CLIENT_CONNECTIONS));
    let turn = 0;
    const api: Pick<JsonClient, 'send'> = {
      send(...request) {
        const client = apis[turn++ % apis.length];
        if (!client) throw new Error('no node exists');
        return client.send(...request);
      },
    };
    const control = new JsonClient(controlUrl, 1);
    clients.push(...apis, control);
    const headers = { authorization: `Bearer ${required(env, 'EVERSTEP_TOKEN')}`, 'content-type': 'application/json' };
    /** Sends a request in the dialect of the worker, whose endpoint is a workflow. */
    const starting = sdk === 'upstash' ? { ...headers, 'upstash-workflow-sdk-version': '1' } : headers;
    const waiting = { ...headers, 'svc-wait-for-result': `${limitS}s` };
    const pathOf = (workflow: WorkflowName): string => `/v2/trigger/${encodeURIComponent(`${url}/${workflow}`)}`;
    const paths = { seq: pathOf('seq'), fan: pathOf('fan'), wait: pathOf('wait') };
    const lengthOf = (body: unknown): number => (Array.isArray(body) ? body.length : Number.NaN);

    return {
      serverPids: services.map(processId),
      databasePids: database?.pids ?? [],
      workerPid: processId(worker),
      async run(workflow, steps) {
        const payload = JSON.stringify({ n: steps });
        let { status, body } = await api.send('POST', paths[workflow], sdk === 'upstash' ? starting : waiting, payload);
        if (sdk === 'upstash') {
          // This dialect has no trigger that waits for the result.
          const runId = encodeURIComponent(String(fieldOf(body, 'workflowRunId')));
          ({ status, body } = await api.send('GET', `/v2/workflows/runs/${runId}/result?timeout=${limitS}s`, headers));
        }
        const succeeded = status === 200 && fieldOf(body, 'workflowState') === 'RUN_SUCCESS';
        if (succeeded && fieldOf(fieldOf(body, 'result'), 'steps') === steps) return;
        const id = encodeURIComponent(String(fieldOf(body, 'workflowRunId')));
        const { body: log } = await api.send('GET', `/v2/workflows/logs?workflowRunId=${id}`, headers);
        const shown = JSON.stringify(log).slice(0, MAX_SHOWN_LOG_LENGTH);
        throw new Error(`a run of ${steps} steps did not succeed within ${limitS} s: ${shown}`);
      },
      async trigger(workflow, steps, settings = {}) {
        await api.send('POST', paths[workflow], { ...starting, ...settings }, JSON.stringify({ n: steps }));
      },
      async waiters(event) {
        return lengthOf((await api.send('GET', `/v2/waiters/${event}`, headers)).body);
      },
      async notify(event) {
        return lengthOf((await api.send('POST', `/v2/notify/${event}`, headers, '"go"')).body);
      },
      async flowControl(key, action) {
        await api.send('POST', `/v2/flowControl/${key}/${action}`, headers);
      },
      async waitListSize(key) {
        return Number(fieldOf((await api.send('GET', `/v2/flowControl/${key}`, headers)).body, 'waitListSize'));
      },
      async resetDone() {
        await control.send('POST', '/reset', {});
      },
      async done() {
        const { body } = await control.send('GET', '/done', {});
        return Number(fieldOf(body, 'done'));
      },
      stop: end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}
