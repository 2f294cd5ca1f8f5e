/** Sessions of users, and the locations from which users signed in, in the store. */
import type { AuditEntry } from './records.js';
import type { UserRecord } from './users.js';

/** A session of a signed-in user, identified by a secret. */
export interface SessionRecord {
  /** SHA-256 of the secret in hexadecimal. The secret itself is never stored. */
  readonly sessionHash: string;
  readonly userId: string;
  /** API key that started the session, which ends when the key is revoked; null if the user signed in with an identity provider. */
  readonly apiKeyId: string | null;
  /** Time when the session was created, Unix ms. */
  readonly createdAt: number;
  /** Time when the session expires, Unix ms. */
  readonly expiresAt: number;
}

/** Maximum number of login locations that are kept for each user; the most recently used ones are kept. */
export const MAX_LOGIN_LOCATIONS = 50;

/** Maximum number of sessions of a user; the most recently started ones are kept. */
export const MAX_SESSIONS_PER_USER = 50;

/** Stores sessions and logins. */
export interface SessionStore {
  /**
   * Creates a session, and removes sessions that ended by `createdAt` and those of the user beyond `MAX_SESSIONS_PER_USER`.
   * Returns false and writes nothing if the API key is not a valid key of the user, or if the user is disabled.
   */
  createSession(query: { readonly session: SessionRecord; readonly audit?: AuditEntry }): Promise<boolean>;
  /** Returns the session with its user, or null if there is none. The session may have expired. */
  findSession(query: {
    readonly sessionHash: string;
  }): Promise<{ readonly session: SessionRecord; readonly user: UserRecord } | null>;
  /** Changes the expiry time of a session, if it exists. The write is not synced, so a crash can undo it. */
  extendSession(query: { readonly sessionHash: string; readonly expiresAt: number }): Promise<void>;
  /** Lists the sessions of the user, the latest first. Some may have expired. */
  listSessions(query: { readonly userId: string }): Promise<readonly SessionRecord[]>;
  /** Deletes the session. Returns false if there is none. */
  deleteSession(query: { readonly sessionHash: string; readonly audit?: AuditEntry }): Promise<boolean>;
  /** Ends all sessions of the user and returns their number. The audit entry is written only if there were some. */
  deleteSessions(query: { readonly userId: string; readonly audit?: AuditEntry }): Promise<number>;
  /**
   * Returns the time when a login of the user from this location was last recorded, Unix ms; null if none was. `place` is any text
   * that identifies the location.
   */
  lastLoginAt(query: { readonly userId: string; readonly location: string }): Promise<number | null>;
  /** Records a login. The write is not synced, so a crash can undo it. Limited by `MAX_LOGIN_LOCATIONS`. */
  recordLogin(query: { readonly userId: string; readonly location: string; readonly at: number }): Promise<void>;
}
