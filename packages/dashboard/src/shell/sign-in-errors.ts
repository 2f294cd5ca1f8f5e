/** Why a sign-in with the identity provider failed, by the code that it led back with. */
import type { SignInError } from '../../../everstep/src/contract/sign-in.js';

const TEXTS: Readonly<Record<SignInError, string>> = {
  'sso-unavailable': 'The identity provider cannot be reached. Try again in a moment, or log in with an API key.',
  'sso-refused': 'The identity provider refused the sign-in, or it was canceled there.',
  'sso-expired': 'The sign-in took too long, or began in another browser. Try again.',
  'sso-invalid': 'The answer of the identity provider was not valid. Try again; if it happens again, ask an operator.',
  'sso-email-unverified': 'The identity provider has no verified e-mail for you. Verify it there, then try again.',
  'sso-domain': 'Your e-mail is not of a domain that may sign in here.',
  'sso-unknown-user': 'You have no user here. Ask an operator or the owner of a team for an invitation.',
  'sso-email-taken': 'A user with your e-mail exists. Log in with its API key, then link SSO on the Account page.',
  'sso-user-disabled': 'Your user is disabled. Ask an operator.',
  'sso-identity-taken': 'This identity is linked to another user.',
  'sso-too-many': 'Too many failed logins from your address. Try again in a minute.',
};

const isCode = (code: string): code is SignInError => Object.hasOwn(TEXTS, code);

/** Undefined without a code. */
export function signInErrorText(code: string | undefined): string | undefined {
  if (code === undefined) return undefined;
  return isCode(code) ? TEXTS[code] : 'The sign-in failed.';
}
