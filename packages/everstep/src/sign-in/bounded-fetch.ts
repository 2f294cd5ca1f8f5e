/** Requests to the identity provider, with a timeout and a size limit for answers. */

export interface FetchBounds {
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** Statuses without a body. */
const BODILESS: readonly number[] = [101, 204, 205, 304];

async function readBounded(response: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    bytes += part.value.byteLength;
    if (bytes > maxBytes) {
      await reader?.cancel();
      throw new Error(`the answer of the identity provider exceeds ${maxBytes} bytes`);
    }
    chunks.push(part.value);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

/** Does not follow redirects. Rejects if the answer is late or too long. */
export const boundedFetch =
  ({ timeoutMs, maxBytes }: FetchBounds) =>
  async (url: string, { signal, ...options }: RequestInit): Promise<Response> => {
    const late = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, {
      ...options,
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, late]) : late,
    });
    const { status, statusText, headers } = response;
    const body = await readBounded(response, maxBytes);
    return new Response(BODILESS.includes(status) ? null : body, { status, statusText, headers });
  };
