/** Account operations for sign-in with an identity provider. */
import type { Role } from '../../ports/stores/account-store.js';
import type { Identity } from '../../ports/stores/accounts/sign-in.js';
import type { StartedSession } from '../principal.js';

/** Roles that the identity provider assigns. Unmapped roles stay unchanged. */
export interface MappedRoles {
  /** Null if the operator role is not mapped. */
  readonly isOperator: boolean | null;
  /** Mapped teams, with the role of the user in each; null if the user is not a member. */
  readonly teams: ReadonlyMap<string, Role | null>;
}

/** Verified identity from the identity provider. */
export interface VerifiedIdentity extends Identity {
  /** Lowercase email address, verified by the identity provider. */
  readonly email: string;
  readonly roles: MappedRoles;
}

export interface SignInPolicy {
  /** Whether an unknown identity creates a user. */
  readonly createUsers: boolean;
  /** Whether a verified email identifies an existing user. */
  readonly linkByEmail: boolean;
}

/** Session of a user who links an identity. The identity is linked only while the session exists. */
export interface IdentityLink {
  readonly userId: string;
  readonly sessionHash: string;
}

export interface IdentitySignIn {
  readonly identity: VerifiedIdentity;
  readonly policy: SignInPolicy;
  readonly address: string;
  readonly isHttps: boolean;
  /** The session whose user links the identity; null for a sign-in. */
  readonly link: IdentityLink | null;
}

/** `sso-expired`: the session that started to link the identity has ended. */
export type SignInRefusal = 'sso-expired' | 'sso-unknown-user' | 'sso-email-taken' | 'sso-user-disabled' | 'sso-identity-taken';

export type SignInResult =
  | ({ readonly kind: 'in' } & StartedSession)
  | { readonly kind: 'refused'; readonly reason: SignInRefusal };

export interface IdentityRules {
  /** Counts an invalid response of the identity provider as a failed login from the address. */
  countFailedSignIn(client: { readonly address: string }): void;
  signIn(request: IdentitySignIn): Promise<SignInResult>;
}
