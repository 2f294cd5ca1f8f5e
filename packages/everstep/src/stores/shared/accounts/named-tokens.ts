/** Named tokens of instances, by the hash of the token. */
import {
  NAMED_TOKENS_KEPT_MS,
  type NamedToken,
  type NamedTokenStore,
  type ReplacedToken,
} from '../../../ports/stores/accounts/named-tokens.js';
import { greatest, least } from '../sql/dialect.js';
import { count, type Procedure, row, rows, type SqlStore, send } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';
import { json, NUMBER, nullable, TEXT, table } from '../sql/table.js';
import type { AccountChange } from './change.js';

const TOKEN = table<NamedToken>('named_token', {
  tokenId: TEXT,
  instanceId: TEXT,
  name: TEXT,
  tokenHash: TEXT,
  scopes: json(),
  createdBy: TEXT,
  createdAt: NUMBER,
  expiresAt: nullable(NUMBER),
  revokedAt: nullable(NUMBER),
  lastUsedAt: nullable(NUMBER),
  replacedBy: nullable(TEXT),
});

function* create(token: NamedToken, replacedToken: ReplacedToken | undefined): Procedure<boolean> {
  const { instanceId, createdAt } = token;
  if (replacedToken) {
    const { tokenId, expiresAt } = replacedToken;
    const end =
      expiresAt === null
        ? sql`revoked_at = ${createdAt}`
        : sql`expires_at = ${least(sql`coalesce(expires_at, ${expiresAt})`, sql`${expiresAt}`)}`;
    const changedCount = yield* count(sql`
      UPDATE named_token SET replaced_by = ${token.tokenId}, ${end}
      WHERE token_id = ${tokenId} AND instance_id = ${instanceId} AND revoked_at IS NULL`);
    if (changedCount !== 1) return false;
  }
  const endedBefore = createdAt - NAMED_TOKENS_KEPT_MS;
  yield* send(sql`
    DELETE FROM named_token WHERE instance_id = ${instanceId} AND (revoked_at < ${endedBefore} OR expires_at < ${endedBefore})`);
  yield* send(TOKEN.insert(token));
  return true;
}

function* find(tokenHash: string): Procedure<NamedToken | null> {
  const foundRow = yield* row(sql`SELECT * FROM named_token WHERE token_hash = ${tokenHash}`);
  return foundRow && TOKEN.read(foundRow);
}

function* list(instanceId: string): Procedure<readonly NamedToken[]> {
  const foundRows = yield* rows(sql`SELECT * FROM named_token WHERE instance_id = ${instanceId} ORDER BY created_at, token_id`);
  return foundRows.map(TOKEN.read);
}

function* revoke(instanceId: string, tokenId: string, at: number): Procedure<boolean> {
  const revokedCount = yield* count(sql`
    UPDATE named_token SET revoked_at = ${at}
    WHERE token_id = ${tokenId} AND instance_id = ${instanceId} AND revoked_at IS NULL`);
  return revokedCount === 1;
}

const recordUse = (tokenId: string, at: number): Procedure<void> =>
  send(sql`
    UPDATE named_token SET last_used_at = ${greatest(sql`coalesce(last_used_at, 0)`, sql`${at}`)} WHERE token_id = ${tokenId}`);

export function createNamedTokens(store: SqlStore, change: AccountChange): NamedTokenStore {
  return {
    createNamedToken: ({ token, replaces, audit }) => change(() => create(token, replaces), audit),
    findNamedToken: ({ tokenHash }) => store.read(find(tokenHash)),
    listNamedTokens: ({ instanceId }) => store.read(list(instanceId)),
    revokeNamedToken: ({ instanceId, tokenId, at, audit }) => change(() => revoke(instanceId, tokenId, at), audit),
    recordTokenUse: ({ tokenId, at }) => store.write(() => recordUse(tokenId, at), { durable: false }),
  };
}
