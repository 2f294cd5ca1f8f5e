/** Queue instances and their tokens. */
import type {
  InstanceChange,
  InstanceKeys,
  OutboundRules,
  QueueInstance,
  SigningKeyPairs,
  TokenRecord,
} from '../../../ports/stores/account-store.js';
import { integer, integerOrNull, jsonOrNull, type Row, text, textOrNull, word } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';
import { requireAccount } from './account-change.js';
import { forgetBudgetAlerts, isBudgetedAnew } from './budget-alerts.js';

const INSERT = statement(`
  INSERT INTO queue_instance (instance_id, region, name, created_at, current_signing_key, next_signing_key,
    account_id, plan, budget_dollars, budget_alert_url, price, first_price, outbound_rules, key_pairs, workflow_origins, signed_origins)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12, $13, $14, $15)`);
const SELECT_ONE = statement('SELECT * FROM queue_instance WHERE instance_id = $1');
const LOCK_ONE = statement('SELECT * FROM queue_instance WHERE instance_id = $1 FOR UPDATE');
const SELECT_ALL = statement('SELECT * FROM queue_instance ORDER BY seq');
const UPDATE = statement(`
  UPDATE queue_instance SET name = $2, account_id = $3, plan = $4, budget_dollars = $5, budget_alert_url = $6,
    price = $7, first_price = coalesce(first_price, $7), outbound_rules = $8, key_pairs = $9, workflow_origins = $10,
    signed_origins = $11
  WHERE instance_id = $1 RETURNING *`);
const SELECT_OF_ACCOUNTS = statement('SELECT * FROM queue_instance WHERE account_id = ANY ($1::text[]) ORDER BY seq');
const SET_SIGNING_KEYS = statement(
  'UPDATE queue_instance SET current_signing_key = $2, next_signing_key = $3 WHERE instance_id = $1',
);
const REPLACE_KEYS = statement(`
  UPDATE queue_instance SET current_signing_key = $2, next_signing_key = $3, key_pairs = $4
  WHERE instance_id = $1 AND current_signing_key = $5 AND next_signing_key = $6 AND key_pairs IS NOT DISTINCT FROM $7`);
const SET_WORKFLOW_ORIGINS = statement('UPDATE queue_instance SET workflow_origins = $2 WHERE instance_id = $1');
const INSERT_TOKENS = statement(`
  INSERT INTO token (token_id, instance_id, access, created_at, revoked_at)
  SELECT token_id, instance_id, access, created_at, revoked_at
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
    WITH ORDINALITY AS w (token_id, instance_id, access, created_at, revoked_at, n)
  ORDER BY n`);
const SELECT_TOKEN = statement('SELECT * FROM token WHERE token_id = $1');
const SELECT_TOKENS = statement('SELECT * FROM token WHERE instance_id = $1 ORDER BY seq');
const REVOKE = statement('UPDATE token SET revoked_at = coalesce(revoked_at, $2) WHERE token_id = $1');
const REVOKE_GOOD = statement(`
  WITH revoked AS (
    UPDATE token SET revoked_at = $2 WHERE instance_id = $1 AND revoked_at IS NULL RETURNING token_id, seq)
  SELECT token_id FROM revoked ORDER BY seq`);

/** What an instance may have: null is how the row says that it has not. */
interface Choices {
  readonly accountId: string | null;
  readonly plan: string | null;
  readonly budgetDollars: number | null;
  readonly budgetAlertUrl: string | null;
  readonly price: number | null;
  readonly outboundRules: OutboundRules | null;
  readonly keyPairs: SigningKeyPairs | null;
  readonly workflowOrigins: readonly string[] | null;
  readonly signedOrigins: readonly string[] | null;
}

const choicesOf = (row: Row): Choices => ({
  accountId: textOrNull(row, 'account_id'),
  plan: textOrNull(row, 'plan'),
  budgetDollars: integerOrNull(row, 'budget_dollars'),
  budgetAlertUrl: textOrNull(row, 'budget_alert_url'),
  price: integerOrNull(row, 'price'),
  outboundRules: jsonOrNull(row, 'outbound_rules'),
  keyPairs: jsonOrNull(row, 'key_pairs'),
  workflowOrigins: jsonOrNull(row, 'workflow_origins'),
  signedOrigins: jsonOrNull(row, 'signed_origins'),
});

function instanceOf(row: Row): QueueInstance {
  const { accountId, plan, budgetDollars, budgetAlertUrl, price, outboundRules, ...signatures } = choicesOf(row);
  const { keyPairs, workflowOrigins, signedOrigins } = signatures;
  return {
    instanceId: text(row, 'instance_id'),
    region: text(row, 'region'),
    name: text(row, 'name'),
    createdAt: integer(row, 'created_at'),
    currentSigningKey: text(row, 'current_signing_key'),
    nextSigningKey: text(row, 'next_signing_key'),
    ...(accountId === null ? {} : { accountId }),
    ...(plan === null ? {} : { plan }),
    ...(budgetDollars === null ? {} : { budgetDollars }),
    ...(budgetAlertUrl === null ? {} : { budgetAlertUrl }),
    ...(price === null ? {} : { price }),
    ...(outboundRules === null ? {} : { outboundRules }),
    ...(keyPairs === null ? {} : { keyPairs }),
    ...(workflowOrigins === null ? {} : { workflowOrigins }),
    ...(signedOrigins === null ? {} : { signedOrigins }),
  };
}

const choicesIn = (instance: Partial<Choices>): readonly (string | number | null)[] => {
  const { accountId = null, plan = null, budgetDollars = null, budgetAlertUrl = null, price = null } = instance;
  const { outboundRules = null, keyPairs = null, workflowOrigins = null, signedOrigins = null } = instance;
  const texts = [outboundRules, keyPairs, workflowOrigins, signedOrigins].map((value) => value && JSON.stringify(value));
  return [accountId, plan, budgetDollars, budgetAlertUrl, price, ...texts];
};

const keysIn = ({ currentSigningKey, nextSigningKey, keyPairs }: InstanceKeys): readonly [string, string, string | null] => [
  currentSigningKey,
  nextSigningKey,
  keyPairs ? JSON.stringify(keyPairs) : null,
];

const tokenOf = (row: Row): TokenRecord => ({
  tokenId: text(row, 'token_id'),
  instanceId: text(row, 'instance_id'),
  access: word(row, 'access', ['read-write', 'read-only']),
  createdAt: integer(row, 'created_at'),
  revokedAt: integerOrNull(row, 'revoked_at'),
});

/** Rejects when the id is taken, or when the account does not exist (any more). */
export async function createInstance(session: TransactionSession, instance: QueueInstance): Promise<void> {
  const { instanceId, region, name, createdAt, currentSigningKey, nextSigningKey } = instance;
  if (instance.accountId !== undefined) await requireAccount(session, instance.accountId);
  const keys = [currentSigningKey, nextSigningKey];
  await session.execute(INSERT, [instanceId, region, name, createdAt, ...keys, ...choicesIn(instance)]);
}

export async function findInstance(session: Session, instanceId: string): Promise<QueueInstance | null> {
  const [row] = await session.query(SELECT_ONE, [instanceId]);
  return row ? instanceOf(row) : null;
}

/** By creation. */
/** By creation. */
export async function instancesOf(session: Session, accountIds: readonly string[]): Promise<readonly QueueInstance[]> {
  return (await session.query(SELECT_OF_ACCOUNTS, [accountIds])).map(instanceOf);
}

export async function listInstances(session: Session): Promise<readonly QueueInstance[]> {
  return (await session.query(SELECT_ALL)).map(instanceOf);
}

/**
 * Null when there is none. Rejects when the new account does not exist (any more). Alerts go with the budget and the owner
 * that they were about.
 */
export async function changeInstance(
  session: TransactionSession,
  instanceId: string,
  change: InstanceChange,
): Promise<QueueInstance | null> {
  const [row] = await session.query(LOCK_ONE, [instanceId]);
  if (!row) return null;
  if (change.accountId !== undefined) await requireAccount(session, change.accountId);
  const { name = text(row, 'name'), ...chosen } = change;
  const [changed] = await session.query(UPDATE, [instanceId, name, ...choicesIn({ ...choicesOf(row), ...chosen })]);
  const [before, after] = [instanceOf(row), changed ? instanceOf(changed) : null];
  if (after && isBudgetedAnew(before, after)) forgetBudgetAlerts(session, instanceId);
  return after;
}

/** Rejects when there is no such instance. */
export async function setSigningKeys(
  session: TransactionSession,
  instanceId: string,
  current: string,
  next: string,
): Promise<void> {
  const changed = await session.execute(SET_SIGNING_KEYS, [instanceId, current, next]);
  if (changed !== 1) throw new Error(`there is no queue instance ${instanceId}`);
}

/** False when the keys are not `from`. */
export async function replaceInstanceKeys(
  session: TransactionSession,
  instanceId: string,
  from: InstanceKeys,
  to: InstanceKeys,
): Promise<boolean> {
  return (await session.execute(REPLACE_KEYS, [instanceId, ...keysIn(to), ...keysIn(from)])) === 1;
}

export async function addWorkflowOrigin(
  session: TransactionSession,
  instanceId: string,
  origin: string,
  limit: number,
): Promise<void> {
  const [row] = await session.query(LOCK_ONE, [instanceId]);
  const known = row ? (instanceOf(row).workflowOrigins ?? []) : [];
  if (!row || known.includes(origin) || known.length >= limit) return;
  await session.execute(SET_WORKFLOW_ORIGINS, [instanceId, JSON.stringify([...known, origin])]);
}

/** Rejects when an id is taken. */
export async function createTokens(session: TransactionSession, tokens: readonly TokenRecord[]): Promise<void> {
  if (tokens.length === 0) return;
  await session.execute(INSERT_TOKENS, [
    tokens.map(({ tokenId }) => tokenId),
    tokens.map(({ instanceId }) => instanceId),
    tokens.map(({ access }) => access),
    tokens.map(({ createdAt }) => createdAt),
    tokens.map(({ revokedAt }) => revokedAt),
  ]);
}

export async function findToken(session: Session, tokenId: string): Promise<TokenRecord | null> {
  const [row] = await session.query(SELECT_TOKEN, [tokenId]);
  return row ? tokenOf(row) : null;
}

/** By creation. */
export async function listTokens(session: Session, instanceId: string): Promise<readonly TokenRecord[]> {
  return (await session.query(SELECT_TOKENS, [instanceId])).map(tokenOf);
}

/** A token that is revoked already keeps its first time. */
export async function revokeToken(session: TransactionSession, tokenId: string, at: number): Promise<void> {
  await session.execute(REVOKE, [tokenId, at]);
}

/** Returns the ids of the tokens that were good until now, by creation. */
export async function replaceTokens(
  session: TransactionSession,
  instanceId: string,
  tokens: readonly TokenRecord[],
  at: number,
): Promise<readonly string[]> {
  // Of two at once the second one sees the tokens of the first.
  await session.query(LOCK_ONE, [instanceId]);
  const revoked = await session.query(REVOKE_GOOD, [instanceId, at]);
  await createTokens(session, tokens);
  return revoked.map((row) => text(row, 'token_id'));
}
