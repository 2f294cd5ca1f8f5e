/**
 * The cookie of a session: how it is sent, read, and kept from whoever records headers.
 *
 * Where clients speak https its name has the prefix `__Host-`: a browser takes such a cookie from this host alone, and not
 * from a sibling or a parent domain. A session that began there is known by its secret, and counts in that cookie only.
 */
import { LIMITS } from '../../config/limits.js';
import type { ReceivedHeaders } from '../parameters/prefixed-headers.js';

/** Over plain http, and of sessions that an earlier version began. */
export const SESSION_COOKIE = 'everstep_session';
export const HOST_COOKIE = `__Host-${SESSION_COOKIE}`;
/** How the secret of a session begins that is for `HOST_COOKIE` alone. */
const HOST_SECRET = /^eh_/;

interface CookiePart {
  readonly name: string;
  readonly value: string;
}

function partOf(text: string): CookiePart | null {
  const equals = text.indexOf('=');
  return equals === -1 ? null : { name: text.slice(0, equals).trim(), value: text.slice(equals + 1).trim() };
}

const isOfSession = (part: CookiePart | null): part is CookiePart =>
  part !== null && (part.name === SESSION_COOKIE || part.name === HOST_COOKIE);

const textOf = (cookie: ReceivedHeaders[string]): string => (typeof cookie === 'string' ? cookie : (cookie ?? []).join('; '));

/** The secret; null when there is none. */
export function secretOf({ cookie }: ReceivedHeaders): string | null {
  if (cookie === undefined) return null;
  const parts = textOf(cookie).split(';').map(partOf).filter(isOfSession);
  const secretIn = (wanted: string, may: (value: string) => boolean): string | null =>
    // A browser sends the cookie of the narrowest path first.
    parts.find(({ name, value }) => name === wanted && value !== '' && may(value))?.value ?? null;
  return secretIn(HOST_COOKIE, () => true) ?? secretIn(SESSION_COOKIE, (value) => !HOST_SECRET.test(value));
}

/**
 * The headers without the secret: webhooks record what comes, and a browser sends the cookie to every path. The same object
 * when there is none.
 */
export function withoutSecret(headers: ReceivedHeaders): ReceivedHeaders {
  const { cookie, ...others } = headers;
  if (cookie === undefined) return headers;
  const parts = textOf(cookie).split(';');
  const left = parts.filter((part) => !isOfSession(partOf(part))).map((part) => part.trim());
  if (left.length === parts.length) return headers;
  return left.length === 0 ? others : { ...others, cookie: left.join('; ') };
}

/** Not for scripts, and not for requests that another site makes. The service says when the session ends, not the browser. */
const cookie = (isHttps: boolean, value: string, maxAgeS: number): string =>
  `${isHttps ? HOST_COOKIE : SESSION_COOKIE}=${value}; Max-Age=${maxAgeS}; Path=/; HttpOnly; SameSite=Strict${isHttps ? '; Secure' : ''}`;

export const setCookie = (secret: string, isHttps: boolean): string => cookie(isHttps, secret, LIMITS.sessionMaxMs / 1000);

export const forgetCookie = (isHttps: boolean): string => cookie(isHttps, '', 0);
