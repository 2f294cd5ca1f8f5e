/**
 * Checks whether a request that changes something comes from a page of the server, as far as browsers report it.
 * Keeps invariant 38.
 */
import { ApiError } from '../../contract/error-codes.js';
import type { ReceivedHeaders } from '../parameters/prefixed-headers.js';
import { quoteValue } from '../parameters/value-errors.js';

export interface PageRequest {
  readonly headers: ReceivedHeaders;
  /** Host and port that the browser uses. */
  readonly host: string;
}

const textOf = (value: ReceivedHeaders[string]): string | undefined => (typeof value === 'string' ? value : value?.join());

/** Returns the host and port, or null for values that are not an origin, such as `null`. */
function hostOf(origin: string): string | null {
  try {
    return new URL(origin).host;
  } catch {
    return null;
  }
}

/** Returns whether an origin has the host. The default port may be omitted. */
const isSameHost = (origin: string, host: string): boolean => {
  const originHost = hostOf(origin);
  if (originHost === null) return false;
  const { protocol } = new URL(origin);
  return originHost === hostOf(`${protocol}//${host}`);
};

/** Throws ApiError `csrf-refused` if the request is cross-origin. Requests without browser headers are accepted here. */
export function checkOrigin({ headers, host }: PageRequest): void {
  const origin = textOf(headers.origin);
  // Browsers send this header over https and to localhost. Scripts cannot set it.
  const fetchSite = textOf(headers['sec-fetch-site']);
  if (fetchSite !== undefined) {
    if (fetchSite === 'same-origin') return;
    throw new ApiError(
      'csrf-refused',
      `the request comes from a page of another origin (Sec-Fetch-Site: ${quoteValue(fetchSite)}); send it from a page of this server, or use a token`,
    );
  }
  if (origin === undefined || isSameHost(origin, host)) return;
  throw new ApiError(
    'csrf-refused',
    `the request comes from a page of the origin ${quoteValue(origin)}, but the server was reached as ${quoteValue(host)}; a proxy must not change the Host header`,
  );
}
