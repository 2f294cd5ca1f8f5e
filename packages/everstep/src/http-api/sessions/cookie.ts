/**
 * Session cookie: sending it, reading it, and hiding it from code that records headers.
 * With https the name has the prefix `__Host-`: browsers accept such a cookie from this host only, not from a sibling or
 * parent domain. The prefix of a secret shows that its session was created over https; such a secret is valid only in that
 * cookie.
 */
import { LIMITS } from '../../config/limits.js';
import type { ReceivedHeaders } from '../parameters/prefixed-headers.js';

/** Name of the cookie over plain http, and of sessions from earlier versions. */
export const SESSION_COOKIE = 'everstep_session';
export const HOST_COOKIE = `__Host-${SESSION_COOKIE}`;
/** Prefix of secrets that are valid in `HOST_COOKIE` only. */
const HOST_SECRET = /^eh_/;

interface Cookie {
  readonly name: string;
  readonly value: string;
}

function parseCookie(text: string): Cookie | null {
  const equalsIndex = text.indexOf('=');
  if (equalsIndex === -1) return null;
  return { name: text.slice(0, equalsIndex).trim(), value: text.slice(equalsIndex + 1).trim() };
}

const isSessionCookie = (cookie: Cookie | null): cookie is Cookie =>
  cookie !== null && (cookie.name === SESSION_COOKIE || cookie.name === HOST_COOKIE);

const textOf = (cookie: ReceivedHeaders[string]): string => (typeof cookie === 'string' ? cookie : (cookie ?? []).join('; '));

/** Returns the session secret, or null when there is none. */
export function secretOf({ cookie }: ReceivedHeaders): string | null {
  if (cookie === undefined) return null;
  const sessionCookies = textOf(cookie).split(';').map(parseCookie).filter(isSessionCookie);
  const secretIn = (cookieName: string, isValid: (value: string) => boolean): string | null =>
    // Browsers send the cookie with the most specific path first.
    sessionCookies.find(({ name, value }) => name === cookieName && value !== '' && isValid(value))?.value ?? null;
  return secretIn(HOST_COOKIE, () => true) ?? secretIn(SESSION_COOKIE, (value) => !HOST_SECRET.test(value));
}

/**
 * Returns the headers without the session secret, because webhooks record headers and browsers send the cookie to every
 * path. Returns the same object when there is no secret.
 */
export function removeSecret(headers: ReceivedHeaders): ReceivedHeaders {
  const { cookie, ...otherHeaders } = headers;
  if (cookie === undefined) return headers;
  const cookies = textOf(cookie).split(';');
  const otherCookies = cookies.filter((text) => !isSessionCookie(parseCookie(text))).map((text) => text.trim());
  if (otherCookies.length === cookies.length) return headers;
  return otherCookies.length === 0 ? otherHeaders : { ...otherHeaders, cookie: otherCookies.join('; ') };
}

/**
 * Returns the value of a Set-Cookie header. The cookie is not accessible to scripts, and browsers do not send it with
 * cross-site requests. The server decides when the session ends, not the browser.
 */
const cookieText = (isHttps: boolean, value: string, maxAgeS: number): string =>
  `${isHttps ? HOST_COOKIE : SESSION_COOKIE}=${value}; Max-Age=${maxAgeS}; Path=/; HttpOnly; SameSite=Strict${isHttps ? '; Secure' : ''}`;

export const setCookie = (secret: string, isHttps: boolean): string => cookieText(isHttps, secret, LIMITS.sessionMaxMs / 1000);

export const clearCookie = (isHttps: boolean): string => cookieText(isHttps, '', 0);
