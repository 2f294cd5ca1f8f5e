/** Wire schemas and error codes of single sign-on with an identity provider. */
import Type, { type Static } from 'typebox';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';

/** Stable error codes. A failed sign-in redirects to a page with the code in the query parameter `sign-in-error`. */
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

/** Path that the identity provider redirects browsers to. */
export const SIGN_IN_CALLBACK = '/v2/session/sso/callback';

export const SignInMethods = Type.Object(
  { sso: Type.Boolean({ description: 'Whether users can sign in with an identity provider, at `GET /v2/session/sso`.' }) },
  NO_OTHER_PROPERTIES,
);
export type SignInMethods = Static<typeof SignInMethods>;

export const Redirected = Type.Object(
  { location: Type.String({ description: 'Redirect target. Same as the header `Location`.' }) },
  NO_OTHER_PROPERTIES,
);
export type Redirected = Static<typeof Redirected>;
