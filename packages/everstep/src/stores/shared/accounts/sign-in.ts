/** Identities of users at the identity provider, and links with which a user gets a new API key. */
import type { ApiKeyRecord, UserRecord } from '../../../ports/stores/account-store.js';
import type { Identity, LinkedIdentity } from '../../../ports/stores/accounts/sign-in.js';
import { integer, text } from '../../records/columns.js';
import { FOR_KEY_SHARE } from '../sql/dialect.js';
import { count, type Procedure, row, rows, send } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';
import { deleteSessionsWithoutKey } from './logins.js';
import { createApiKey, USER } from './users.js';

export function* findByIdentity({ issuer, subject }: Identity): Procedure<UserRecord | null> {
  const foundRow = yield* row(sql`
    SELECT u.* FROM sso_identity i JOIN account_user u ON u.user_id = i.user_id
    WHERE i.issuer = ${issuer} AND i.subject = ${subject}`);
  return foundRow && USER.read(foundRow);
}

export function* linkIdentity({ issuer, subject }: Identity, userId: string, at: number): Procedure<boolean> {
  const linkedCount = yield* count(sql`
    INSERT INTO sso_identity (issuer, subject, user_id, created_at)
    SELECT ${issuer}, ${subject}, user_id, ${at} FROM account_user WHERE user_id = ${userId} ${FOR_KEY_SHARE}
    ON CONFLICT (issuer, subject) DO NOTHING`);
  return linkedCount === 1;
}

export function* listIdentities(userId: string): Procedure<readonly LinkedIdentity[]> {
  const foundRows = yield* rows(sql`
    SELECT issuer, subject, created_at FROM sso_identity WHERE user_id = ${userId}`);
  const identities = foundRows.map((foundRow) => ({
    issuer: text(foundRow, 'issuer'),
    subject: text(foundRow, 'subject'),
    linkedAt: integer(foundRow, 'created_at'),
  }));
  // No index has this order, and a user has few identities.
  return identities.sort((a, b) => a.linkedAt - b.linkedAt);
}

export function* unlinkIdentity({ issuer, subject }: Identity, userId: string): Procedure<boolean> {
  const unlinkedCount = yield* count(sql`
    DELETE FROM sso_identity WHERE issuer = ${issuer} AND subject = ${subject} AND user_id = ${userId}`);
  if (unlinkedCount !== 1) return false;
  yield* deleteSessionsWithoutKey(userId);
  return true;
}

export function* createUserOfIdentity(identity: Identity, user: UserRecord): Procedure<boolean> {
  if (yield* findByIdentity(identity)) return false;
  const insert = USER.insert({ ...user, email: user.email.toLowerCase() });
  if ((yield* count(sql`${insert} ON CONFLICT DO NOTHING`)) !== 1) return false;
  if (yield* linkIdentity(identity, user.userId, user.createdAt)) return true;
  throw new Error('the identity was just linked to another user');
}

export interface RecoveryLink {
  readonly userId: string;
  readonly secretHash: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export function* putRecoveryLink({ userId, secretHash, createdAt, expiresAt }: RecoveryLink): Procedure<boolean> {
  const storedCount = yield* count(sql`
    INSERT INTO recovery_link (user_id, secret_hash, created_at, expires_at)
    SELECT user_id, ${secretHash}, ${createdAt}, ${expiresAt} FROM account_user WHERE user_id = ${userId} ${FOR_KEY_SHARE}
    ON CONFLICT (user_id) DO UPDATE SET secret_hash = excluded.secret_hash, created_at = excluded.created_at,
      expires_at = excluded.expires_at`);
  return storedCount === 1;
}

export function* findUserOfRecoveryLink(secretHash: string, at: number): Procedure<UserRecord | null> {
  const foundRow = yield* row(sql`
    SELECT u.* FROM recovery_link l JOIN account_user u ON u.user_id = l.user_id
    WHERE l.secret_hash = ${secretHash} AND l.expires_at > ${at} AND u.disabled_at IS NULL`);
  return foundRow && USER.read(foundRow);
}

/** Uses the link and creates the API key. Returns false if another request used the link at the same moment. */
export function* useRecoveryLink(secretHash: string, at: number, apiKey: ApiKeyRecord): Procedure<boolean> {
  if ((yield* findUserOfRecoveryLink(secretHash, at))?.userId !== apiKey.userId) return false;
  const deletedCount = yield* count(sql`
    DELETE FROM recovery_link WHERE user_id = ${apiKey.userId} AND secret_hash = ${secretHash} AND expires_at > ${at}`);
  if (deletedCount !== 1) return false;
  yield* createApiKey(apiKey);
  return true;
}

export const deleteRecoveryLink = (userId: string): Procedure<void> =>
  send(sql`DELETE FROM recovery_link WHERE user_id = ${userId}`);

/** Deletes the identities and recovery links of a user that is being deleted. */
export function* deleteSignInOfUser(userId: string): Procedure<void> {
  yield* send(sql`DELETE FROM sso_identity WHERE user_id = ${userId}`);
  yield* deleteRecoveryLink(userId);
}
