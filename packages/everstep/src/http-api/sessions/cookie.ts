/** The cookie of a session: how it is sent, read, and kept from whoever records headers. */
import { LIMITS } from '../../config/limits.js';
import type { ReceivedHeaders } from '../parameters/prefixed-headers.js';

export const SESSION_COOKIE = 'everstep_session';

function secretIn(part: string): string | null {
  const equals = part.indexOf('=');
  if (equals === -1 || part.slice(0, equals).trim() !== SESSION_COOKIE) return null;
  return part.slice(equals + 1).trim();
}

const textOf = (cookie: ReceivedHeaders[string]): string => (typeof cookie === 'string' ? cookie : (cookie ?? []).join('; '));

/** The secret; null when there is none. A browser sends the cookie of the narrowest path first. */
export function secretOf({ cookie }: ReceivedHeaders): string | null {
  if (cookie === undefined) return null;
  for (const part of textOf(cookie).split(';')) {
    const value = secretIn(part);
    if (value) return value;
  }
  return null;
}

/**
 * The headers without the secret: webhooks record what comes, and a browser sends the cookie to every path. The same object
 * when there is none.
 */
export function withoutSecret(headers: ReceivedHeaders): ReceivedHeaders {
  const { cookie, ...others } = headers;
  if (secretOf(headers) === null) return headers;
  const left = textOf(cookie)
    .split(';')
    .filter((part) => secretIn(part) === null)
    .map((part) => part.trim());
  return left.length === 0 ? others : { ...others, cookie: left.join('; ') };
}

/** Not for scripts, and not for requests that another site makes. The service says when the session ends, not the browser. */
const attributes = (isHttps: boolean): string => `Path=/; HttpOnly; SameSite=Strict${isHttps ? '; Secure' : ''}`;

export const setCookie = (secret: string, isHttps: boolean): string =>
  `${SESSION_COOKIE}=${secret}; Max-Age=${LIMITS.sessionMaxMs / 1000}; ${attributes(isHttps)}`;

export const forgetCookie = (isHttps: boolean): string => `${SESSION_COOKIE}=; Max-Age=0; ${attributes(isHttps)}`;
