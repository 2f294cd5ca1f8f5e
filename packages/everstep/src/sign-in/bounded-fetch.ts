/** Requests to the identity provider, with a timeout and a size limit for responses. */

export interface ProviderRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly redirect: 'manual';
  readonly signal: AbortSignal;
}

export interface ProviderResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Iterable<[string, string]>;
  readonly body: {
    getReader(): { read(): Promise<{ readonly done: boolean; readonly value?: unknown }>; cancel(): Promise<void> };
  } | null;
}

/** Sends a request, as the `fetch` of Node does. */
export type ProviderFetch = (url: string, request: ProviderRequest) => Promise<ProviderResponse>;

export interface FetchBounds {
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** Statuses without a body. */
const BODILESS_STATUSES: readonly number[] = [101, 204, 205, 304];

async function readBounded({ body }: ProviderResponse, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = body?.getReader();
  for (let part = await reader?.read(); part?.value instanceof Uint8Array; part = await reader?.read()) {
    bytes += part.value.byteLength;
    if (bytes > maxBytes) {
      await reader?.cancel();
      throw new Error(`the response of the identity provider exceeds ${maxBytes} bytes`);
    }
    chunks.push(part.value);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

/** Returns a fetch that does not follow redirects. It rejects if the response is late or too long. */
export const boundedFetch =
  ({ timeoutMs, maxBytes }: FetchBounds, send: ProviderFetch = fetch) =>
  async (url: string, { signal, body, method = 'GET', headers }: RequestInit): Promise<Response> => {
    const timeoutSignal = AbortSignal.timeout(timeoutMs);
    const response = await send(url, {
      method,
      headers: Object.fromEntries(new Headers(headers)),
      body: body === null || body === undefined ? null : await new Response(body).text(),
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeoutSignal]) : timeoutSignal,
    });
    const { status, statusText } = response;
    const content = await readBounded(response, maxBytes);
    return new Response(BODILESS_STATUSES.includes(status) ? null : content, {
      status,
      statusText,
      headers: [...response.headers],
    });
  };
