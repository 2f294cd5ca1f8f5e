/** Tokens with a name, by the hash of the token. */
import { NAMED_TOKENS_KEPT_MS, type NamedToken } from '../../../ports/stores/accounts/named-tokens.js';
import { integer, integerOrNull, json, type Row, text } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';

const INSERT = statement('INSERT INTO named_token VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)');
const DELETE_OLD = statement('DELETE FROM named_token WHERE instance_id = $1 AND (revoked_at < $2 OR expires_at < $2)');
const SELECT = statement('SELECT * FROM named_token WHERE token_hash = $1');
const SELECT_ALL = statement('SELECT * FROM named_token WHERE instance_id = $1 ORDER BY created_at, token_id');
const UPDATE_END = statement(`
  UPDATE named_token SET expires_at = LEAST(expires_at, $1)
  WHERE token_id = $2 AND instance_id = $3 AND revoked_at IS NULL`);
const REVOKE = statement(`
  UPDATE named_token SET revoked_at = $1 WHERE token_id = $2 AND instance_id = $3 AND revoked_at IS NULL`);
const NOTE_USE = statement('UPDATE named_token SET last_used_at = GREATEST(last_used_at, $1) WHERE token_id = $2');
/** The next use writes again what a crash of the server undoes. */
const WITHOUT_WAITING = statement(`SELECT set_config('synchronous_commit', 'off', true)`);

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

export async function createNamedToken(
  session: TransactionSession,
  token: NamedToken,
  replaces: { readonly tokenId: string; readonly expiresAt: number } | undefined,
): Promise<boolean> {
  const { tokenId, instanceId, name, tokenHash, scopes, createdBy, createdAt, expiresAt, revokedAt, lastUsedAt } = token;
  if (replaces && (await session.execute(UPDATE_END, [replaces.expiresAt, replaces.tokenId, instanceId])) !== 1) return false;
  session.send(DELETE_OLD, [instanceId, createdAt - NAMED_TOKENS_KEPT_MS]);
  const times = [createdAt, expiresAt, revokedAt, lastUsedAt];
  await session.execute(INSERT, [tokenId, instanceId, name, tokenHash, JSON.stringify(scopes), createdBy, ...times]);
  return true;
}

export async function findNamedToken(session: Session, tokenHash: string): Promise<NamedToken | null> {
  const [row] = await session.query(SELECT, [tokenHash]);
  return row ? tokenOf(row) : null;
}

export async function listNamedTokens(session: Session, instanceId: string): Promise<readonly NamedToken[]> {
  return (await session.query(SELECT_ALL, [instanceId])).map(tokenOf);
}

export async function revokeNamedToken(
  session: TransactionSession,
  { instanceId, tokenId, at }: { readonly instanceId: string; readonly tokenId: string; readonly at: number },
): Promise<boolean> {
  return (await session.execute(REVOKE, [at, tokenId, instanceId])) === 1;
}

export async function noteTokenUse(session: TransactionSession, tokenId: string, at: number): Promise<void> {
  session.send(WITHOUT_WAITING);
  await session.execute(NOTE_USE, [at, tokenId]);
}
