/** Senders of requests: users with an API key or a session. */
import type { UserRecord } from '../ports/stores/account-store.js';

/** The user who sends a request, and the client's address. */
export interface Principal {
  readonly user: UserRecord;
  /** Client address for the audit log. */
  readonly address: string;
  /** The user's session; absent for a request with an API key. */
  readonly sessionId?: string;
  /** The API key that was sent; absent for a request with a session. */
  readonly apiKeyId?: string;
}

/** Session of a user, identified by a secret. */
export interface Session {
  readonly principal: Principal & { readonly sessionId: string };
  readonly sessionHash: string;
  /** Null if the session was started with an identity provider. */
  readonly apiKeyId: string | null;
  /** Required with every request that changes something. */
  readonly csrfToken: string;
  /** Unix ms. Use of the session extends it. */
  readonly expiresAt: number;
}

export interface StartedSession {
  /** Known only to the user's browser. */
  readonly secret: string;
  readonly session: Session;
}
