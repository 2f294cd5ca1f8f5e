/** Messages for failed SSO sign-ins, by the error code in the redirect back to the sign-in page. */
import type { SignInError } from '../../../everstep/src/contract/sign-in.js';

const TEXTS: Readonly<Record<SignInError, string>> = {
  'sso-unavailable': 'The identity provider is unavailable. Try again later, or sign in with an API key.',
  'sso-refused': 'The identity provider rejected the sign-in, or the sign-in was canceled.',
  'sso-expired': 'The sign-in took too long, was started in another browser, or your session has ended. Try again.',
  'sso-invalid': 'The identity provider sent an invalid response. Try again. If the problem persists, contact an operator.',
  'sso-email-unverified': 'Your email is not verified with the identity provider. Verify it there, then try again.',
  'sso-domain': 'Your email domain is not allowed to sign in here.',
  'sso-unknown-user': 'No user exists for your email. Ask an operator or a team owner for an invitation.',
  'sso-email-taken': 'A user with your email already exists. Sign in with its API key, then link SSO under Your account.',
  'sso-user-disabled': 'Your user is disabled. Contact an operator.',
  'sso-identity-taken': 'This identity is already linked to another user.',
  'sso-too-many': 'Too many failed sign-ins from your IP address. Try again in a minute.',
};

const isCode = (code: string): code is SignInError => Object.hasOwn(TEXTS, code);

/** Returns the message for a code, or undefined without a code. */
export function signInErrorText(code: string | undefined): string | undefined {
  if (code === undefined) return undefined;
  return isCode(code) ? TEXTS[code] : 'The sign-in failed.';
}
