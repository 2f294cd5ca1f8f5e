/** Users and their API keys in the store. */
import type { Listing, Position } from '../page.js';
import type { AuditEntry } from './records.js';

export interface UserRecord {
  readonly userId: string;
  /** Unique email address, lowercase. */
  readonly email: string;
  /** Time when the user was created, Unix ms. */
  readonly createdAt: number;
  /** Time when the user was disabled, Unix ms; absent if the user can sign in. */
  readonly disabledAt?: number;
  /** Present if the user can set plans and manage users. */
  readonly isOperator?: true;
}

export interface ApiKeyRecord {
  readonly apiKeyId: string;
  readonly userId: string;
  readonly name: string;
  /** SHA-256 of the key in hexadecimal. The key itself is never stored. */
  readonly keyHash: string;
  readonly createdAt: number;
  /** Time when the key was revoked, Unix ms; absent if the key is valid. */
  readonly revokedAt?: number;
}

/** Stores users and their API keys. */
export interface UserStore {
  createUser(query: { readonly user: UserRecord; readonly apiKey: ApiKeyRecord; readonly audit?: AuditEntry }): Promise<void>;
  /** Lists all users, ordered by creation. */
  listUsers(): Promise<readonly UserRecord[]>;
  /** Lists users after a position, ordered by creation. The position stays valid if users are deleted. */
  listUsersPage(query: { readonly after: Position | null; readonly limit: number }): Promise<Listing<UserRecord>>;
  findUser(query: { readonly userId: string }): Promise<UserRecord | null>;
  /** Finds a user by the lowercase email address. */
  findUserByEmail(query: { readonly email: string }): Promise<UserRecord | null>;
  /**
   * Disables the user at the time `at` (Unix ms), or enables the user if `at` is null. Disabling ends the sessions of the user and
   * deletes the invitations that the user created. Returns `last-operator` if no enabled operator would remain.
   */
  setUserDisabled(query: {
    readonly userId: string;
    readonly at: number | null;
    readonly audit?: AuditEntry;
  }): Promise<'done' | 'not-found' | 'last-operator'>;
  /** Grants or revokes the operator role. Returns `last-operator` if no enabled operator would remain. */
  setOperator(query: {
    readonly userId: string;
    readonly isOperator: boolean;
    readonly audit?: AuditEntry;
  }): Promise<'done' | 'not-found' | 'last-operator'>;
  /**
   * Deletes the user with all keys, sessions, memberships and invitations, and with teams that have no other member and own
   * nothing. The successor becomes an owner of each team that would have none, and must be a member of it. Audit entries are kept.
   * Returns `owns-resources` if queue instances or search indexes must be moved or deleted first, `last-owner` if a team would
   * have no owner, and `last-operator` if no enabled operator would remain.
   */
  deleteUser(query: {
    readonly userId: string;
    readonly successorId: string | null;
    readonly audit?: AuditEntry;
  }): Promise<'deleted' | 'not-found' | 'owns-resources' | 'last-owner' | 'last-operator'>;
  createApiKey(query: { readonly apiKey: ApiKeyRecord; readonly audit?: AuditEntry }): Promise<void>;
  /** Lists the keys, including revoked ones, ordered by creation. */
  listApiKeys(query: { readonly userId: string }): Promise<readonly ApiKeyRecord[]>;
  /** Revokes the key and ends the sessions that were started with it. Returns false if it is not a valid key of the user. */
  revokeApiKey(query: {
    readonly apiKeyId: string;
    readonly userId: string;
    readonly at: number;
    readonly audit?: AuditEntry;
  }): Promise<boolean>;
  /** Revokes all valid keys of the user, ends the user's sessions, and deletes the user's recovery link. Returns the number of revoked keys. */
  revokeApiKeys(query: { readonly userId: string; readonly at: number; readonly audit?: AuditEntry }): Promise<number>;
}
