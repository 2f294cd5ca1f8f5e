/** The requests that a measurement sends: to the nodes of the installation in turn, and to the control address of its worker. */
import { JsonClient } from './json-client.js';
import type { Options } from './options.js';

const CLIENT_CONNECTIONS = 128;
const MAX_SHOWN_LOG_LENGTH = 1_500;

export type WorkflowName = 'seq' | 'fan' | 'wait';

/** Requests to the server under test and its worker. */
export interface EngineClient {
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
  close(): Promise<void>;
}

export interface EngineClientOptions extends Pick<Options, 'limitS' | 'sdk'> {
  /** One per node. */
  readonly urls: readonly string[];
  readonly token: string;
  /** URL of the worker, below which its workflows are. */
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
  let turn = 0;
  return {
    send(...request) {
      const node = nodes[turn++ % nodes.length];
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
  /** Sends a request in the dialect of the worker, whose endpoint is a workflow. */
  const starting = sdk === 'upstash' ? { ...headers, 'upstash-workflow-sdk-version': '1' } : headers;
  const waiting = { ...headers, 'svc-wait-for-result': `${limitS}s` };
  const pathOf = (workflow: WorkflowName): string => `/v2/trigger/${encodeURIComponent(`${workerUrl}/${workflow}`)}`;
  const paths = { seq: pathOf('seq'), fan: pathOf('fan'), wait: pathOf('wait') };

  return {
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
    async close() {
      await Promise.all([api.close(), control.close()]);
    },
  };
}
