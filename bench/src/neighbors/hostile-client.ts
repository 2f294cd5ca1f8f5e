/** Requests of the hostile account. Their responses are discarded. */
import { type Dispatcher, Pool } from 'undici';
import type { EndpointsReady } from './endpoints.js';

export interface HostileAccess {
  readonly url: string;
  readonly token: string;
  readonly readOnlyToken: string;
  readonly endpoints: EndpointsReady;
}

export interface ResponseSummary {
  readonly status: number;
  readonly text: string;
}

const BATCH_SIZE = 100;
const MAX_KEPT_LENGTH = 1_000_000;

export class HostileClient {
  readonly endpoints: EndpointsReady;
  private readonly access: HostileAccess;
  private readonly pool: Pool;
  private isStopped = false;
  /** Responses by status, for the report. */
  readonly responses = new Map<string, number>();

  constructor(access: HostileAccess) {
    this.access = access;
    this.endpoints = access.endpoints;
    this.pool = new Pool(access.url, { connections: 3_000, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  }

  /** Sends a request. Never rejects, because a rejected request and a closed connection also count as responses. */
  async send(
    method: 'GET' | 'POST',
    path: string,
    body: string | Buffer | null = null,
    { headers = {}, readOnly = false }: { readonly headers?: Readonly<Record<string, string>>; readonly readOnly?: boolean } = {},
  ): Promise<ResponseSummary> {
    const { token, readOnlyToken } = this.access;
    const requestHeaders = {
      authorization: `Bearer ${readOnly ? readOnlyToken : token}`,
      'content-type': 'application/json',
      ...headers,
    };
    const summary = await this.summaryOf({ method, path, headers: requestHeaders, body });
    const status = String(summary.status);
    this.responses.set(status, (this.responses.get(status) ?? 0) + 1);
    return summary;
  }

  private async summaryOf(request: Dispatcher.RequestOptions): Promise<ResponseSummary> {
    try {
      const response = await this.pool.request(request);
      let text = '';
      for await (const chunk of response.body) if (text.length < MAX_KEPT_LENGTH) text += String(chunk);
      return { status: response.statusCode, text };
    } catch (error) {
      return { status: 0, text: String(error) };
    }
  }

  trigger(destination: string, body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Promise<ResponseSummary> {
    return this.send('POST', `/v2/trigger/${encodeURIComponent(destination)}`, body, { headers });
  }

  /** Triggers runs of these destinations, 100 per request, with a few concurrent requests. Rejects if a request fails. */
  async triggerAll(destinations: readonly string[], headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const batches: string[] = [];
    for (let n = 0; n < destinations.length; n += BATCH_SIZE)
      batches.push(
        JSON.stringify(destinations.slice(n, n + BATCH_SIZE).map((destination) => ({ destination, body: { n }, headers }))),
      );
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        for (let batch = batches.pop(); batch; batch = batches.pop()) {
          const { status, text } = await this.send('POST', '/v2/batch/trigger', batch);
          if (status !== 200 || text.includes('"error"'))
            throw new Error(`a batch failed with status ${status}: ${text.slice(0, 300)}`);
        }
      }),
    );
  }

  /** Repeats the work with this concurrency until the client is stopped. Returns immediately. */
  loop(concurrency: number, work: (n: number) => Promise<ResponseSummary>): void {
    let n = 0;
    for (let workerIndex = 0; workerIndex < concurrency; workerIndex++) {
      void (async () => {
        while (!this.isStopped) {
          const { status } = await work(n++);
          // Only avoids a busy loop: a hostile client does not back off when its requests are rejected.
          if (status === 0 || status >= 400) await new Promise((resolve) => setTimeout(resolve, 10));
        }
      })();
    }
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.pool.destroy();
  }
}
