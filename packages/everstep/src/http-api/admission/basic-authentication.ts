/** Authenticates requests to the management API by email and API key, with HTTP Basic. */
import type { AccountService, Principal } from '../../accounts/account-service.js';
import { ApiError } from '../../contract/error-codes.js';
import { quoteValue } from '../parameters/value-errors.js';

export const CHALLENGE = { 'www-authenticate': 'Basic realm="Everstep management API", charset="UTF-8"' } as const;
const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i;
const CREDENTIAL_HINT = 'send "Authorization: Basic <base64 of email:API key>"';
const utf8 = new TextDecoder('utf-8', { fatal: true });

interface BasicCredential {
  readonly email: string;
  readonly apiKey: string;
}

/** Decodes a credential. Returns null if the text is not the Base64 of two strings that are separated by a colon. */
function decodeCredential(encoded: string): BasicCredential | null {
  let text: string;
  try {
    text = utf8.decode(Buffer.from(encoded, 'base64'));
  } catch {
    return null;
  }
  const colon = text.indexOf(':');
  return colon === -1 ? null : { email: text.slice(0, colon), apiKey: text.slice(colon + 1) };
}

/** Returns the credential of the header. Throws ApiError `missing-token` or `bad-credential`. */
export function basicCredentialOf(authorization: string | undefined): BasicCredential {
  if (authorization === undefined)
    throw new ApiError('missing-token', `the request has no credential; ${CREDENTIAL_HINT}`, CHALLENGE);
  const encodedCredential = BASIC.exec(authorization)?.[1];
  if (encodedCredential === undefined) {
    const scheme = authorization.split(' ', 1)[0] ?? '';
    const problem =
      scheme.toLowerCase() === 'basic'
        ? 'the value after "Basic" is not Base64'
        : `the Authorization header has the scheme ${quoteValue(scheme)}`;
    throw new ApiError('bad-credential', `the management API requires HTTP Basic: ${problem}; ${CREDENTIAL_HINT}`, CHALLENGE);
  }
  const credential = decodeCredential(encodedCredential);
  if (credential) return credential;
  throw new ApiError(
    'bad-credential',
    `the value after "Basic" is not the Base64 of an email, a colon and an API key; ${CREDENTIAL_HINT}`,
    CHALLENGE,
  );
}

export const isBasic = (authorization: string | undefined): boolean => /^basic /i.test(authorization ?? '');

/** Returns the error for too many failed logins. */
export function tooManyLogins(retryAfterMs: number): ApiError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return new ApiError('rate-limited', `too many failed sign-in attempts; retry after ${seconds} s`, {
    'retry-after': String(seconds),
  });
}

/** Logs a user in. Rejects with ApiError `missing-token`, `bad-credential` or `rate-limited`. */
export async function logIn(accounts: AccountService, authorization: string | undefined, address: string): Promise<Principal> {
  const login = await accounts.logIn({ ...basicCredentialOf(authorization), address });
  switch (login.kind) {
    case 'in':
      return login.principal;
    case 'refused':
      throw new ApiError(
        'bad-credential',
        'no user has this email and API key, or the key was revoked; check both, or ask an operator for a recovery link',
        CHALLENGE,
      );
    case 'wait':
      throw tooManyLogins(login.retryAfterMs);
  }
}
