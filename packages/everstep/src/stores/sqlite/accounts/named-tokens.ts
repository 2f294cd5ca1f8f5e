/** Tokens with a name, by the hash of the token. */
import type { StatementSync } from 'node:sqlite';
import { NAMED_TOKENS_KEPT_MS, type NamedToken } from '../../../ports/stores/accounts/named-tokens.js';
import { integer, integerOrNull, json, type Row, text } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

const tokenOf = (row: Row): NamedToken => ({
  tokenId: text(row, 'token_id'),
  instanceId: text(row, 'instance_id'),
  name: text(row, 'name'),
  tokenHash: text(row, 'token_hash'),
  scopes: json(row, 'scopes'),
  createdBy: text(row, 'created_by'),
  createdAt: integer(row, 'created_at'),
  expiresAt: integerOrNull(row, 'expires_at'),
  revokedAt: integerOrNull(row, 'revoked_at'),
  lastUsedAt: integerOrNull(row, 'last_used_at'),
});

/** What writes is called inside a transaction. */
export class NamedTokens {
  private readonly insert: StatementSync;
  private readonly deleteOld: StatementSync;
  private readonly select: StatementSync;
  private readonly selectAll: StatementSync;
  private readonly updateEnd: StatementSync;
  private readonly updateRevoked: StatementSync;
  private readonly updateUse: StatementSync;

  constructor(connection: Connection) {
    this.insert = connection.prepare('INSERT INTO named_token VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
    this.deleteOld = connection.prepare(
      'DELETE FROM named_token WHERE instance_id = ?1 AND (revoked_at < ?2 OR expires_at < ?2)',
    );
    this.select = connection.prepare('SELECT * FROM named_token WHERE token_hash = ?');
    this.selectAll = connection.prepare('SELECT * FROM named_token WHERE instance_id = ? ORDER BY created_at, token_id');
    this.updateEnd = connection.prepare(
      `UPDATE named_token SET expires_at = min(coalesce(expires_at, ?1), ?1)
       WHERE token_id = ?2 AND instance_id = ?3 AND revoked_at IS NULL`,
    );
    this.updateRevoked = connection.prepare(
      'UPDATE named_token SET revoked_at = ? WHERE token_id = ? AND instance_id = ? AND revoked_at IS NULL',
    );
    this.updateUse = connection.prepare(
      'UPDATE named_token SET last_used_at = max(coalesce(last_used_at, 0), ?1) WHERE token_id = ?2',
    );
  }

  create(token: NamedToken, replaces: { readonly tokenId: string; readonly expiresAt: number } | undefined): boolean {
    const { tokenId, instanceId, name, tokenHash, scopes, createdBy, createdAt, expiresAt, revokedAt, lastUsedAt } = token;
    if (replaces && this.updateEnd.run(replaces.expiresAt, replaces.tokenId, instanceId).changes !== 1) return false;
    this.deleteOld.run(instanceId, createdAt - NAMED_TOKENS_KEPT_MS);
    const times = [createdAt, expiresAt, revokedAt, lastUsedAt];
    this.insert.run(tokenId, instanceId, name, tokenHash, JSON.stringify(scopes), createdBy, ...times);
    return true;
  }

  find(tokenHash: string): NamedToken | null {
    const row = this.select.get(tokenHash);
    return row ? tokenOf(row) : null;
  }

  list(instanceId: string): readonly NamedToken[] {
    return this.selectAll.all(instanceId).map(tokenOf);
  }

  revoke(instanceId: string, tokenId: string, at: number): boolean {
    return this.updateRevoked.run(at, tokenId, instanceId).changes === 1;
  }

  noteUse(tokenId: string, at: number): void {
    this.updateUse.run(at, tokenId);
  }
}
