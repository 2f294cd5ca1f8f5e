/** The requests that a measurement sends: to the nodes of the installation in turn, and to the control address of its worker. */
import { JsonClient } from './json-client.js';
import type { Options } from './options.js';

const CLIENT_CONNECTIONS = 128;
const MAX_SHOWN_LOG_LENGTH = 1_500;

export type WorkflowName = 'seq' | 'fan' | 'wait';

/** Requests to the server under test and its worker. */
export interface EngineClient {
  /** Triggers a run and waits for its result. Rejects if the result is wrong. */
  run(workflow: WorkflowName, steps: number): Promise<void>;
  /** Triggers a run. Resolves when it is durable. */
  trigger(workflow: WorkflowName, steps: number, settings?: Readonly<Record<string, string>>): Promise<void>;
  /** Returns the number of runs that wait for the event, at most 1,000. */
  waiters(event: string): Promise<number>;
  /** Notifies the runs that wait for the event. Resolves with their number. */
  notify(event: string): Promise<number>;
  /** Sends a request for a flow control key. */
  flowControl(key: string, action: 'pause' | 'resume'): Promise<void>;
  /** Returns the number of waiting deliveries of the key. */
  waitListSize(key: string): Promise<number>;
  resetFinishedRuns(): Promise<void>;
  /** Returns the number of runs finished since the reset. */
  finishedRuns(): Promise<number>;
  close(): Promise<void>;
}

export interface EngineClientOptions extends Pick<Options, 'limitS' | 'sdk'> {
  /** URLs of the nodes. */
  readonly urls: readonly string[];
  readonly token: string;
  /** URL of the worker, to which the paths of its workflows are added. */
  readonly workerUrl: string;
  readonly controlUrl: string;
}

function fieldOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Object.entries(body).find(([key]) => key === name)?.[1] : undefined;
}

const lengthOf = (body: unknown): number => (Array.isArray(body) ? body.length : Number.NaN);

/** Sends requests to the nodes in turn. */
function createNodesClient(urls: readonly string[]): Pick<JsonClient, 'send' | 'close'> {
  const nodes = urls.map((url) => new JsonClient(url, CLIENT_CONNECTIONS));
  let requestCount = 0;
  return {
    send(...request) {
      const node = nodes[requestCount++ % nodes.length];
      if (!node) throw new Error('no node exists');
      return node.send(...request);
    },
    async close() {
      await Promise.all(nodes.map((node) => node.close()));
    },
  };
}

export function createEngineClient({ urls, token, workerUrl, controlUrl, sdk, limitS }: EngineClientOptions): EngineClient {
  const api = createNodesClient(urls);
  const control = new JsonClient(controlUrl, 1);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  // Triggers are sent in the dialect of the worker.
  const triggerHeaders = sdk === 'upstash' ? { ...headers, 'upstash-workflow-sdk-version': '1' } : headers;
  const resultHeaders = { ...headers, 'svc-wait-for-result': `${limitS}s` };
  const pathOf = (workflow: WorkflowName): string => `/v2/trigger/${encodeURIComponent(`${workerUrl}/${workflow}`)}`;
  const paths = { seq: pathOf('seq'), fan: pathOf('fan'), wait: pathOf('wait') };

  return {
    async run(workflow, steps) {
      const payload = JSON.stringify({ n: steps });
      let { status, body } = await api.send('POST', paths[workflow], sdk === 'upstash' ? triggerHeaders : resultHeaders, payload);
      if (sdk === 'upstash') {
        // This dialect has no trigger that waits for the result.
        const runId = encodeURIComponent(String(fieldOf(body, 'workflowRunId')));
        ({ status, body } = await api.send('GET', `/v2/workflows/runs/${runId}/result?timeout=${limitS}s`, headers));
      }
      const hasSucceeded = status === 200 && fieldOf(body, 'workflowState') === 'RUN_SUCCESS';
      if (hasSucceeded && fieldOf(fieldOf(body, 'result'), 'steps') === steps) return;
      const id = encodeURIComponent(String(fieldOf(body, 'workflowRunId')));
      const { body: log } = await api.send('GET', `/v2/workflows/logs?workflowRunId=${id}`, headers);
      const logText = JSON.stringify(log).slice(0, MAX_SHOWN_LOG_LENGTH);
      throw new Error(`a run of ${steps} steps did not succeed within ${limitS} s: ${logText}`);
    },
    async trigger(workflow, steps, settings = {}) {
      await api.send('POST', paths[workflow], { ...triggerHeaders, ...settings }, JSON.stringify({ n: steps }));
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
    async resetFinishedRuns() {
      await control.send('POST', '/reset', {});
    },
    async finishedRuns() {
      const { body } = await control.send('GET', '/done', {});
      return Number(fieldOf(body, 'done'));
    },
    async close() {
      await Promise.all([api.close(), control.close()]);
    },
  };
}
