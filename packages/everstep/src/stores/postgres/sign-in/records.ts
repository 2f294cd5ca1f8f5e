/** Identities of users, and links by which they get an API key again. */
import type { ApiKeyRecord, UserRecord } from '../../../ports/stores/account-store.js';
import type { Identity } from '../../../ports/stores/accounts/sign-in.js';
import { createApiKey, userOf } from '../accounts/account-users.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';

const SELECT_USER = statement(`
  SELECT u.* FROM sso_identity i JOIN account_user u ON u.user_id = i.user_id WHERE i.issuer = $1 AND i.subject = $2`);
const INSERT_USER = statement(`
  INSERT INTO account_user (user_id, email, created_at, is_operator) VALUES ($1, $2, $3, false) ON CONFLICT DO NOTHING`);
const INSERT_IDENTITY = statement(`
  INSERT INTO sso_identity (issuer, subject, user_id, created_at)
  SELECT $1, $2, user_id, $3 FROM account_user WHERE user_id = $4 FOR KEY SHARE ON CONFLICT (issuer, subject) DO NOTHING`);
const PUT_LINK = statement(`
  INSERT INTO recovery_link (user_id, secret_hash, created_at, expires_at)
  SELECT user_id, $2, $3, $4 FROM account_user WHERE user_id = $1 FOR KEY SHARE
  ON CONFLICT (user_id) DO UPDATE SET secret_hash = excluded.secret_hash, created_at = excluded.created_at,
    expires_at = excluded.expires_at`);
const SELECT_LINK = statement(`
  SELECT u.* FROM recovery_link l JOIN account_user u ON u.user_id = l.user_id
  WHERE l.secret_hash = $1 AND l.expires_at > $2 AND u.disabled_at IS NULL`);
const TAKE_LINK = statement(`
  DELETE FROM recovery_link l USING account_user u
  WHERE u.user_id = l.user_id AND l.user_id = $3 AND l.secret_hash = $1 AND l.expires_at > $2 AND u.disabled_at IS NULL`);
const DELETE_IDENTITIES = statement('DELETE FROM sso_identity WHERE user_id = $1');
const DELETE_LINK = statement('DELETE FROM recovery_link WHERE user_id = $1');

export async function findByIdentity(session: Session, { issuer, subject }: Identity): Promise<UserRecord | null> {
  const [row] = await session.query(SELECT_USER, [issuer, subject]);
  return row ? userOf(row) : null;
}

export async function linkIdentity(
  session: Session,
  { issuer, subject }: Identity,
  userId: string,
  at: number,
): Promise<boolean> {
  return (await session.execute(INSERT_IDENTITY, [issuer, subject, at, userId])) === 1;
}

export async function createUserOfIdentity(session: TransactionSession, identity: Identity, user: UserRecord): Promise<boolean> {
  if (await findByIdentity(session, identity)) return false;
  if ((await session.execute(INSERT_USER, [user.userId, user.email.toLowerCase(), user.createdAt])) !== 1) return false;
  if (await linkIdentity(session, identity, user.userId, user.createdAt)) return true;
  throw new Error('the identity was linked to another user at the same moment');
}

export async function putRecoveryLink(
  session: Session,
  link: { readonly userId: string; readonly secretHash: string; readonly createdAt: number; readonly expiresAt: number },
): Promise<boolean> {
  const { userId, secretHash, createdAt, expiresAt } = link;
  return (await session.execute(PUT_LINK, [userId, secretHash, createdAt, expiresAt])) === 1;
}

export async function findRecovery(session: Session, secretHash: string, at: number): Promise<UserRecord | null> {
  const [row] = await session.query(SELECT_LINK, [secretHash, at]);
  return row ? userOf(row) : null;
}

export async function takeRecovery(
  session: TransactionSession,
  { secretHash, at, apiKey }: { readonly secretHash: string; readonly at: number; readonly apiKey: ApiKeyRecord },
): Promise<boolean> {
  if ((await session.execute(TAKE_LINK, [secretHash, at, apiKey.userId])) !== 1) return false;
  await createApiKey(session, apiKey);
  return true;
}

/** The user is deleted. */
export function deleteSignInOfUser(session: TransactionSession, userId: string): void {
  session.send(DELETE_IDENTITIES, [userId]);
  session.send(DELETE_LINK, [userId]);
}
