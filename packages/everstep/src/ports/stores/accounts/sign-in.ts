/** Users who sign in with an identity provider, and links with which a user gets a new API key. Times are Unix ms. */
import type { AuditEntry } from './records.js';
import type { ApiKeyRecord, UserRecord } from './users.js';

/** Identity of a user at the identity provider. The subject never changes and is never given to another person. */
export interface Identity {
  /** URL of the identity provider. */
  readonly issuer: string;
  readonly subject: string;
}

/** An identity that is linked to a user. */
export interface LinkedIdentity extends Identity {
  /** Time when the identity was linked, Unix ms. */
  readonly linkedAt: number;
}

export interface SignInStore {
  findByIdentity(query: Identity): Promise<UserRecord | null>;
  /** Links the identity to a user. Returns false if the identity already belongs to a user, or if there is no such user. */
  linkIdentity(query: {
    readonly identity: Identity;
    readonly userId: string;
    readonly at: number;
    readonly audit?: AuditEntry;
  }): Promise<boolean>;
  /** Lists the identities of the user, the first linked one first. */
  listIdentities(query: { readonly userId: string }): Promise<readonly LinkedIdentity[]>;
  /**
   * Unlinks the identity, and ends the sessions of the user that were started with an identity provider. Returns false if the
   * user does not have this identity.
   */
  unlinkIdentity(query: { readonly identity: Identity; readonly userId: string; readonly audit?: AuditEntry }): Promise<boolean>;
  /** Creates a user without an API key. Returns false if the email address or the identity is taken. */
  createUserOfIdentity(query: {
    readonly identity: Identity;
    readonly user: UserRecord;
    readonly audit?: AuditEntry;
  }): Promise<boolean>;

  /** Stores a link and replaces an earlier link of the user. Returns false if there is no such user. */
  putRecoveryLink(query: {
    readonly userId: string;
    /** SHA-256 of the secret in hexadecimal. */
    readonly secretHash: string;
    readonly createdAt: number;
    readonly expiresAt: number;
    readonly audit?: AuditEntry;
  }): Promise<boolean>;
  /** Returns the user of a link that has not expired at `at`, unless the user is disabled. */
  findRecovery(query: { readonly secretHash: string; readonly at: number }): Promise<UserRecord | null>;
  /**
   * Deletes the link and creates the API key of its user. Returns false if the link does not exist or has expired, or
   * if its user is disabled.
   */
  useRecoveryLink(query: {
    readonly secretHash: string;
    readonly at: number;
    readonly apiKey: ApiKeyRecord;
    readonly audit?: AuditEntry;
  }): Promise<boolean>;
}
