/** Users that sign in with an identity provider, and links by which a user gets an API key again. Times are Unix ms. */
import type { ApiKeyRecord, AuditEntry, UserRecord } from './account-store.js';

/** What the identity provider calls a user. The subject never changes and is never given to another person. */
export interface Identity {
  /** URL of the identity provider. */
  readonly issuer: string;
  readonly subject: string;
}

export interface SignInStore {
  findByIdentity(query: Identity): Promise<UserRecord | null>;
  /** False when the identity belongs to a user already, or there is no such user. */
  linkIdentity(query: {
    readonly identity: Identity;
    readonly userId: string;
    readonly at: number;
    readonly audit?: AuditEntry;
  }): Promise<boolean>;
  /** Creates a user without an API key. False when the e-mail or the identity is taken. */
  createUserOfIdentity(query: {
    readonly identity: Identity;
    readonly user: UserRecord;
    readonly audit?: AuditEntry;
  }): Promise<boolean>;

  /** Replaces an earlier link of the user. False when there is no such user. */
  putRecoveryLink(query: {
    readonly userId: string;
    /** SHA-256 of the secret, hex. */
    readonly secretHash: string;
    readonly createdAt: number;
    readonly expiresAt: number;
    readonly audit?: AuditEntry;
  }): Promise<boolean>;
  /** The user of a link that has not expired at `at` and is not disabled. */
  findRecovery(query: { readonly secretHash: string; readonly at: number }): Promise<UserRecord | null>;
  /** Deletes the link and creates the API key of its user. False when the link is gone, expired, or its user is disabled. */
  takeRecovery(query: {
    readonly secretHash: string;
    readonly at: number;
    readonly apiKey: ApiKeyRecord;
    readonly audit?: AuditEntry;
  }): Promise<boolean>;
}
