/** Tokens that queue instances were created with, in the store. */
import type { AuditEntry } from './records.js';

/** A token that a queue instance was created with, or its replacement. */
export interface TokenRecord {
  /** The `jti` of the JWT. */
  readonly tokenId: string;
  readonly instanceId: string;
  readonly access: 'read-write' | 'read-only';
  readonly createdAt: number;
  readonly revokedAt: number | null;
}

/** Stores the tokens of queue instances. */
export interface TokenStore {
  createToken(token: TokenRecord): Promise<void>;
  findToken(query: { readonly tokenId: string }): Promise<TokenRecord | null>;
  listTokens(query: { readonly instanceId: string }): Promise<readonly TokenRecord[]>;
  revokeToken(query: { readonly tokenId: string; readonly at: number }): Promise<void>;
  /** Revokes every valid token of the instance and adds these tokens. Returns the ids of the revoked ones. */
  replaceTokens(query: {
    readonly instanceId: string;
    readonly tokens: readonly TokenRecord[];
    readonly at: number;
    readonly audit?: AuditEntry;
  }): Promise<readonly string[]>;
}
