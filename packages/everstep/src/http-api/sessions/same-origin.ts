/** Whether a request that changes something comes from a page of the service, as far as browsers tell. */
import { ApiError } from '../../contract/error-codes.js';
import type { ReceivedHeaders } from '../parameters/prefixed-headers.js';
import { shown } from '../parameters/unacceptable.js';

export interface PageRequest {
  readonly headers: ReceivedHeaders;
  /** Host and port, as the browser has them. */
  readonly host: string;
}

const textOf = (value: ReceivedHeaders[string]): string | undefined => (typeof value === 'string' ? value : value?.join());

/** Host and port; null for what is no origin, such as `null`. */
function hostOf(origin: string): string | null {
  try {
    return new URL(origin).host;
  } catch {
    return null;
  }
}

/** A default port may be written or not. */
const sameHost = (origin: string, host: string): boolean => {
  const of = hostOf(origin);
  if (of === null) return false;
  const { protocol } = new URL(origin);
  return of === hostOf(`${protocol}//${host}`);
};

/** Throws ApiError `csrf-refused`. What no browser sent tells nothing of where it comes from, and is let through here. */
export function checkOrigin({ headers, host }: PageRequest): void {
  const origin = textOf(headers.origin);
  // Browsers send it over https and to their own machine, and no script can.
  const fetchSite = textOf(headers['sec-fetch-site']);
  if (fetchSite !== undefined) {
    if (fetchSite === 'same-origin') return;
    throw new ApiError('csrf-refused', `a page of another origin made this request (Sec-Fetch-Site: ${shown(fetchSite)})`);
  }
  if (origin === undefined || sameHost(origin, host)) return;
  throw new ApiError(
    'csrf-refused',
    `a page of the origin ${shown(origin)} made this request, and the service is reached as ${shown(host)} here; a proxy has to leave the header Host as it is`,
  );
}
