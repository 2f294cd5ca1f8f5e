/** Starts a server with two accounts, their apps and the hostile client, as separate processes. */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, processId, stop, untilReady } from '../child-process.js';
import { isWorkerReady, PROFILE_FLAGS, QUIET_FLAG, readEnvFile, requireVariable, SERVER_BIN } from '../engine.js';
import { JsonClient } from '../json-client.js';
import type { WorkerReady } from '../worker.js';
import type { Order, OrderResult } from './attacker.js';
import type { EndpointsReady } from './endpoints.js';

const scriptOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const SLEEP_MS = 100;
const QUIET_CONNECTIONS = 512;
/**
 * Scripts of the hostile account. In reality, they would run on other machines, so their processes have the lowest priority: the
 * benchmark measures the server, not how processes share a small machine.
 */
const HOSTILE_SCRIPTS = ['./attacker.js', './endpoints.js'];

export interface Benchmark {
  /** Executes a run of the quiet account that sleeps between two steps. Resolves with its duration in ms without the sleep. */
  quietRun(): Promise<number>;
  /** Sends an order to the hostile client. Resolves with the responses that it received. Rejects if the attack fails. */
  attack(order: Order['kind'], attack: string): Promise<Readonly<Record<string, number>>>;
  stop(): Promise<void>;
}

const isEndpointsReady = (message: unknown): message is EndpointsReady =>
  typeof message === 'object' && message !== null && 'nameServer' in message;
const isOrderResult = (message: unknown): message is OrderResult =>
  typeof message === 'object' && message !== null && 'kind' in message && message.kind !== 'ready';

function textIn(body: unknown, name: string): string {
  const value = typeof body === 'object' && body !== null ? Object.entries(body).find(([key]) => key === name)?.[1] : undefined;
  if (typeof value !== 'string') throw new Error(`a response of the server has no ${name}`);
  return value;
}

/**
 * Creates a queue instance owned by a team, so it belongs to another account than the first one. It gets the plan of instances
 * that users other than the operator create.
 */
async function createHostileInstance(env: Readonly<Record<string, string>>) {
  const api = new JsonClient(requireVariable(env, 'EVERSTEP_MANAGEMENT_URL'), 1);
  const key = `${requireVariable(env, 'EVERSTEP_ADMIN_EMAIL')}:${requireVariable(env, 'EVERSTEP_ADMIN_API_KEY')}`;
  const headers = { authorization: `Basic ${Buffer.from(key).toString('base64')}`, 'content-type': 'application/json' };
  try {
    const { body: team } = await api.send('POST', '/v2/team', headers, JSON.stringify({ team_name: 'hostile' }));
    const request = { name: 'hostile', region: 'eu-central-1', team_id: textIn(team, 'team_id') };
    const { body: instance } = await api.send('POST', '/v2/queue/users', headers, JSON.stringify(request));
    const id = textIn(instance, 'id');
    await api.send('POST', `/v2/queue/set-plan/${id}`, headers, JSON.stringify({ plan_name: 'standard' }));
    const { body } = await api.send('GET', `/v2/queue/user/${id}`, headers);
    return { token: textIn(body, 'token'), readOnlyToken: textIn(body, 'read_only_token') };
  } finally {
    await api.close();
  }
}

export async function startBenchmark(): Promise<Benchmark> {
  const directory = mkdtempSync(join(tmpdir(), 'everstep-neighbors-'));
  const children: ChildProcess[] = [];
  let api: JsonClient | null = null;
  const stopAll = async (): Promise<void> => {
    await api?.close();
    await Promise.all(children.map(stop));
    rmSync(directory, { recursive: true, force: true });
  };
  const startProcess = <Ready>(
    script: string,
    env: Readonly<Record<string, string>>,
    isReady: (message: unknown) => message is Ready,
  ) => {
    const logFile = join(directory, `${script.replaceAll('/', '-')}.log`);
    const child = launch({ args: [QUIET_FLAG, scriptOf(script)], env, logFile, hasChannel: true });
    children.push(child);
    if (HOSTILE_SCRIPTS.includes(script)) setPriority(processId(child), constants.priority.PRIORITY_LOW);
    let ready: Ready | undefined;
    child.on('message', (message) => {
      if (isReady(message)) ready ??= message;
    });
    return untilReady(script, child, logFile, () => ready).then((message) => ({ child, ready: message }));
  };
  try {
    const { ready: endpoints } = await startProcess('./endpoints.js', {}, isEndpointsReady);
    const envFile = join(directory, 'service.env');
    const logFile = join(directory, 'service.log');
    const settings = { EVERSTEP_PORT: '0', EVERSTEP_DATA_DIR: join(directory, 'data'), EVERSTEP_ENV_FILE: envFile };
    const server = launch({
      args: [QUIET_FLAG, ...PROFILE_FLAGS, SERVER_BIN, 'dev'],
      env: { EVERSTEP_DEMO: '0', EVERSTEP_DNS_SERVERS: endpoints.nameServer, ...settings },
      logFile,
    });
    children.push(server);
    const env = await untilReady('the server', server, logFile, () => readEnvFile(envFile));
    const keys = {
      EVERSTEP_CURRENT_SIGNING_KEY: requireVariable(env, 'EVERSTEP_CURRENT_SIGNING_KEY'),
      EVERSTEP_NEXT_SIGNING_KEY: requireVariable(env, 'EVERSTEP_NEXT_SIGNING_KEY'),
    };
    const { ready: worker } = await startProcess<WorkerReady>('../worker.js', keys, isWorkerReady);
    const isReady = (message: unknown): message is object => typeof message === 'object' && message !== null;
    const { child: attacker } = await startProcess('./attacker.js', {}, isReady);
    const url = requireVariable(env, 'EVERSTEP_URL');
    const access = { url, endpoints, ...(await createHostileInstance(env)) };
    const client = new JsonClient(url, QUIET_CONNECTIONS);
    api = client;
    const headers = {
      authorization: `Bearer ${requireVariable(env, 'EVERSTEP_TOKEN')}`,
      'content-type': 'application/json',
      'svc-wait-for-result': '120s',
    };
    const path = `/v2/trigger/${encodeURIComponent(`${worker.url}/nap`)}`;
    const body = JSON.stringify({ ms: SLEEP_MS });
    return {
      async quietRun() {
        const startedAt = performance.now();
        const response = await client.send('POST', path, headers, body);
        if (textIn(response.body, 'workflowState') !== 'RUN_SUCCESS') throw new Error('a run of the quiet account failed');
        return performance.now() - startedAt - SLEEP_MS;
      },
      async attack(kind, attack) {
        const order: Order = kind === 'prepare' ? { kind, attack, access } : { kind };
        const result = await new Promise<OrderResult>((resolve, reject) => {
          const onExit = (): void => reject(new Error('the hostile client exited'));
          attacker.once('exit', onExit);
          attacker.once('message', (message) => {
            attacker.off('exit', onExit);
            if (isOrderResult(message)) resolve(message);
            else reject(new Error('unexpected message of the hostile client'));
          });
          attacker.send(order);
        });
        if (result.kind === 'failed') throw new Error(result.error);
        return result.responses;
      },
      stop: stopAll,
    };
  } catch (error) {
    await stopAll();
    throw error;
  }
}
