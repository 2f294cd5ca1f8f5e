/** Queue instances and their tokens. */
import type { InstanceChange, InstanceKeys, QueueInstance, TokenRecord } from '../../../ports/stores/account-store.js';
import { integer, text } from '../../records/columns.js';
import { FOR_UPDATE, inList } from '../sql/dialect.js';
import { count, type Procedure, row, rows, send } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';
import { json, NUMBER, nullable, oneOf, optional, TEXT, table } from '../sql/table.js';
import { deleteAlerts, isBudgetChanged } from './budget-alerts.js';
import { requireAccount } from './change.js';

const INSTANCE = table<QueueInstance>('queue_instance', {
  instanceId: TEXT,
  region: TEXT,
  name: TEXT,
  createdAt: NUMBER,
  currentSigningKey: TEXT,
  nextSigningKey: TEXT,
  accountId: optional(TEXT),
  plan: optional(TEXT),
  budgetDollars: optional(NUMBER),
  budgetAlertUrl: optional(TEXT),
  price: optional(NUMBER),
  outboundRules: optional(json()),
  keyPairs: optional(json()),
  workflowOrigins: optional(json()),
  signedOrigins: optional(json()),
});

const TOKEN = table<TokenRecord>('token', {
  tokenId: TEXT,
  instanceId: TEXT,
  access: oneOf(['read-write', 'read-only']),
  createdAt: NUMBER,
  revokedAt: nullable(NUMBER),
});

/** Called in the transaction that creates or changes an instance, with its new price if one is set. */
export type RecordInstance = (instanceId: string, price: number | undefined) => Procedure<void>;

/** Creates the instance. Fails if the id is taken, or if the account does not exist. */
export function* createInstance(
  instance: QueueInstance,
  tokens: readonly TokenRecord[],
  recordInstance: RecordInstance,
): Procedure<void> {
  if (instance.accountId !== undefined) yield* requireAccount(instance.accountId);
  yield* send(INSTANCE.insert(instance));
  for (const token of tokens) yield* createToken(token);
  yield* recordInstance(instance.instanceId, instance.price);
}

export function* findInstance(instanceId: string): Procedure<QueueInstance | null> {
  const foundRow = yield* row(sql`SELECT * FROM queue_instance WHERE instance_id = ${instanceId}`);
  return foundRow && INSTANCE.read(foundRow);
}

function* lockInstance(instanceId: string): Procedure<QueueInstance | null> {
  const foundRow = yield* row(sql`SELECT * FROM queue_instance WHERE instance_id = ${instanceId} ${FOR_UPDATE}`);
  return foundRow && INSTANCE.read(foundRow);
}

/** Returns all instances in the order of creation. */
export function* listInstances(): Procedure<readonly QueueInstance[]> {
  return (yield* rows(sql`SELECT * FROM queue_instance ORDER BY seq`)).map(INSTANCE.read);
}

/** Returns the instances of these accounts in the order of creation. */
export function* instancesOf(accountIds: readonly string[]): Procedure<readonly QueueInstance[]> {
  const foundRows = yield* rows(sql`SELECT * FROM queue_instance WHERE account_id ${inList(accountIds)}`);
  return foundRows.toSorted((a, b) => integer(a, 'seq') - integer(b, 'seq')).map(INSTANCE.read);
}

/** Changes the instance and returns it; null if there is none. Fails if the new account does not exist. */
export function* changeInstance(
  instanceId: string,
  change: InstanceChange,
  recordInstance: RecordInstance,
): Procedure<QueueInstance | null> {
  const instance = yield* lockInstance(instanceId);
  if (!instance) return null;
  if (change.accountId !== undefined) yield* requireAccount(change.accountId);
  const changedRow = yield* row(sql`
    UPDATE queue_instance SET ${INSTANCE.assignments({ ...instance, ...change })} WHERE instance_id = ${instanceId} RETURNING *`);
  if (!changedRow) return null;
  const changedInstance = INSTANCE.read(changedRow);
  yield* recordInstance(instanceId, change.price);
  if (isBudgetChanged(instance, changedInstance)) yield* deleteAlerts(instanceId);
  return changedInstance;
}

/** Replaces the signing keys. Fails if there is no such instance. */
export function* setSigningKeys(instanceId: string, current: string, next: string): Procedure<void> {
  const changedCount = yield* count(sql`
    UPDATE queue_instance SET current_signing_key = ${current}, next_signing_key = ${next} WHERE instance_id = ${instanceId}`);
  if (changedCount !== 1) throw new Error(`there is no queue instance ${instanceId}`);
}

const keyPairsOf = ({ keyPairs }: InstanceKeys): string | null => (keyPairs ? JSON.stringify(keyPairs) : null);

/** Replaces the keys `from` with `to`. Returns false if the keys are not `from`. */
export function* replaceKeys(instanceId: string, from: InstanceKeys, to: InstanceKeys): Procedure<boolean> {
  const replacedCount = yield* count(sql`
    UPDATE queue_instance SET current_signing_key = ${to.currentSigningKey}, next_signing_key = ${to.nextSigningKey},
      key_pairs = ${keyPairsOf(to)}
    WHERE instance_id = ${instanceId} AND current_signing_key = ${from.currentSigningKey}
      AND next_signing_key = ${from.nextSigningKey} AND key_pairs IS NOT DISTINCT FROM ${keyPairsOf(from)}`);
  return replacedCount === 1;
}

export function* addWorkflowOrigin(instanceId: string, origin: string, maxOrigins: number): Procedure<void> {
  const instance = yield* lockInstance(instanceId);
  const existingOrigins = instance?.workflowOrigins ?? [];
  if (!instance || existingOrigins.includes(origin) || existingOrigins.length >= maxOrigins) return;
  const origins = JSON.stringify([...existingOrigins, origin]);
  yield* send(sql`UPDATE queue_instance SET workflow_origins = ${origins} WHERE instance_id = ${instanceId}`);
}

/** Creates the token. Fails if the id is taken. */
export const createToken = (token: TokenRecord): Procedure<void> => send(TOKEN.insert(token));

export function* findToken(tokenId: string): Procedure<TokenRecord | null> {
  const foundRow = yield* row(sql`SELECT * FROM token WHERE token_id = ${tokenId}`);
  return foundRow && TOKEN.read(foundRow);
}

/** Returns the tokens of the instance in the order of creation. */
export function* listTokens(instanceId: string): Procedure<readonly TokenRecord[]> {
  return (yield* rows(sql`SELECT * FROM token WHERE instance_id = ${instanceId} ORDER BY seq`)).map(TOKEN.read);
}

/** Revokes the token. A token that was revoked before keeps that time. */
export const revokeToken = (tokenId: string, at: number): Procedure<void> =>
  send(sql`UPDATE token SET revoked_at = coalesce(revoked_at, ${at}) WHERE token_id = ${tokenId}`);

/** Replaces all tokens of the instance. Returns the ids of those that were valid until now, in the order of creation. */
export function* replaceTokens(instanceId: string, tokens: readonly TokenRecord[], at: number): Procedure<readonly string[]> {
  // If there are two replacements at once, the second sees the tokens of the first.
  yield* lockInstance(instanceId);
  const revokedTokens = yield* rows(sql`
    UPDATE token SET revoked_at = ${at} WHERE instance_id = ${instanceId} AND revoked_at IS NULL RETURNING token_id, seq`);
  for (const token of tokens) yield* createToken(token);
  return revokedTokens.toSorted((a, b) => integer(a, 'seq') - integer(b, 'seq')).map((token) => text(token, 'token_id'));
}
