/** Wire schemas of signing in with an identity provider, and the codes of what may go wrong there. */
import Type, { type Static } from 'typebox';

const CLOSED = { additionalProperties: false } as const;

/** Stable codes, in the query parameter `sign-in-error` of the page that a failed sign-in leads to. */
export const SIGN_IN_ERRORS = [
  'sso-unavailable',
  'sso-refused',
  'sso-expired',
  'sso-invalid',
  'sso-email-unverified',
  'sso-domain',
  'sso-unknown-user',
  'sso-email-taken',
  'sso-user-disabled',
  'sso-identity-taken',
  'sso-too-many',
] as const;
export type SignInError = (typeof SIGN_IN_ERRORS)[number];

/** Where the identity provider leads browsers back to. */
export const SIGN_IN_CALLBACK = '/v2/session/sso/callback';

export const SignInWays = Type.Object(
  { sso: Type.Boolean({ description: 'Whether users sign in with an identity provider, at GET /v2/session/sso.' }) },
  CLOSED,
);
export type SignInWays = Static<typeof SignInWays>;

export const Redirected = Type.Object({ location: Type.String({ description: 'The same as in the header Location.' }) }, CLOSED);
export type Redirected = Static<typeof Redirected>;
