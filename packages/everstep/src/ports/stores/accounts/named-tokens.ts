/** Tokens of a queue instance with a name, scopes and an expiry. Only their hash is stored. */
import type { AuditEntry } from './records.js';

/**
 * Permissions of a token. `read-metadata` is `read` without payloads, results and headers; `write` includes all others;
 * `connect` is for the connections of workers.
 */
export const TOKEN_SCOPES = ['trigger', 'notify', 'read-metadata', 'read', 'write', 'connect'] as const;
/** `connect:<app>` is for the connections of the workers of one app. */
export type TokenScope = (typeof TOKEN_SCOPES)[number] | `connect:${string}`;

/** Retention of revoked and expired tokens. */
export const NAMED_TOKENS_KEPT_MS = 90 * 24 * 60 * 60 * 1_000;

/** A token with a name. Times are Unix ms. */
export interface NamedToken {
  readonly tokenId: string;
  readonly instanceId: string;
  readonly name: string;
  /** SHA-256 of the token in hexadecimal. */
  readonly tokenHash: string;
  readonly scopes: readonly TokenScope[];
  /** Email of the user who created it. */
  readonly createdBy: string;
  readonly createdAt: number;
  /** Time when the token expires; null if it does not expire. */
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** Time when the token was last used, up to ten minutes late; null if it has not been used yet. */
  readonly lastUsedAt: number | null;
  /** Id of the token that replaced this one in a rotation; null if it was not replaced. */
  readonly replacedBy: string | null;
}

/** A token that a new one replaces. */
export interface ReplacedToken {
  readonly tokenId: string;
  /** Time at which it expires, unless it expires earlier (Unix ms); null to revoke it when the new token is created. */
  readonly expiresAt: number | null;
}

export interface NamedTokenStore {
  /**
   * Creates a token, and deletes tokens of the instance that ended more than `NAMED_TOKENS_KEPT_MS` ago. The token
   * `replaces` never expires later than it would have. Rejects if the id or the hash is taken. Returns false without creating a
   * token if the one to replace does not exist or was revoked.
   */
  createNamedToken(query: {
    readonly token: NamedToken;
    readonly replaces?: ReplacedToken;
    readonly audit?: AuditEntry;
  }): Promise<boolean>;
  findNamedToken(query: { readonly tokenHash: string }): Promise<NamedToken | null>;
  /** Lists the tokens, including revoked and expired ones, ordered by creation. */
  listNamedTokens(query: { readonly instanceId: string }): Promise<readonly NamedToken[]>;
  /** Revokes the token. Returns false if the instance has no such token, or if it was already revoked. */
  revokeNamedToken(query: {
    readonly instanceId: string;
    readonly tokenId: string;
    readonly at: number;
    readonly audit?: AuditEntry;
  }): Promise<boolean>;
  /** Records that the token was used. The write is not synced, so a crash can undo it. */
  recordTokenUse(query: { readonly tokenId: string; readonly at: number }): Promise<void>;
}
