/** Cookie of a pending sign-in with the identity provider. */
import { LIMITS } from '../../config/limits.js';
import type { ReceivedHeaders } from '../parameters/prefixed-headers.js';

const nameOf = (isHttps: boolean): string => `${isHttps ? '__Host-' : ''}everstep_sign_in`;
const MAX_AGE_S = LIMITS.signInLifeMs / 1000;

/** Returns the value of a Set-Cookie header. Browsers do not send a strict cookie when the identity provider redirects back. */
const cookieText = (isHttps: boolean, value: string, maxAgeS: number): string =>
  `${nameOf(isHttps)}=${value}; Max-Age=${maxAgeS}; Path=/; HttpOnly; SameSite=Lax${isHttps ? '; Secure' : ''}`;

export const setSignInCookie = (value: string, isHttps: boolean): string => cookieText(isHttps, value, MAX_AGE_S);
export const clearSignInCookie = (isHttps: boolean): string => cookieText(isHttps, '', 0);

export function signInCookieOf({ cookie: header }: ReceivedHeaders, isHttps: boolean): string | null {
  const text = typeof header === 'string' ? header : (header ?? []).join('; ');
  const prefix = `${nameOf(isHttps)}=`;
  const pair = text.split(';').find((part) => part.trim().startsWith(prefix));
  return pair === undefined ? null : pair.trim().slice(prefix.length);
}
