/** A JSON client with keep-alive connections of undici's Pool, so that the client of the benchmark costs as little as possible. */
import { Pool } from 'undici';

export interface JsonResponse {
  readonly status: number;
  readonly body: unknown;
}

export class JsonClient {
  private readonly pool: Pool;

  constructor(origin: string, connections: number) {
    this.pool = new Pool(origin, { connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  }

  async send(
    method: 'GET' | 'POST',
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: string,
  ): Promise<JsonResponse> {
    const response = await this.pool.request({ method, path, headers, ...(body === undefined ? {} : { body }) });
    const text = await response.body.text();
    if (response.statusCode >= 300)
      throw new Error(`${method} ${path} returned status ${response.statusCode}: ${text.slice(0, 300)}`);
    return { status: response.statusCode, body: JSON.parse(text) };
  }

  close(): Promise<void> {
    return this.pool.destroy();
  }
}
