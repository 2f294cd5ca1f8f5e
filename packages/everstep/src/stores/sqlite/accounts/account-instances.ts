/** Queue instances and their tokens. */
import type { StatementSync } from 'node:sqlite';
import type {
  InstanceChange,
  InstanceKeys,
  OutboundRules,
  QueueInstance,
  SigningKeyPairs,
  TokenRecord,
} from '../../../ports/stores/account-store.js';
import { integer, integerOrNull, jsonOrNull, numberOrNull, type Row, text, textOrNull, word } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';
import { createAccountCheck } from './account-change.js';

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
  price: numberOrNull(row, 'price'),
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

export class AccountInstances {
  private readonly insertInstance: StatementSync;
  private readonly selectInstance: StatementSync;
  private readonly selectInstances: StatementSync;
  private readonly selectOfAccount: StatementSync;
  private readonly updateInstance: StatementSync;
  private readonly updateSigningKeys: StatementSync;
  private readonly updateKeys: StatementSync;
  private readonly updateWorkflowOrigins: StatementSync;
  private readonly requireAccount: (accountId: string) => void;
  private readonly insertToken: StatementSync;
  private readonly selectToken: StatementSync;
  private readonly selectTokens: StatementSync;
  private readonly updateRevoked: StatementSync;

  constructor(connection: Connection) {
    this.insertInstance = connection.prepare(
      `INSERT INTO queue_instance (instance_id, region, name, created_at, current_signing_key, next_signing_key,
         account_id, plan, budget_dollars, budget_alert_url, price, outbound_rules, key_pairs, workflow_origins, signed_origins)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.selectInstance = connection.prepare('SELECT * FROM queue_instance WHERE instance_id = ?');
    this.selectInstances = connection.prepare('SELECT * FROM queue_instance ORDER BY seq');
    this.selectOfAccount = connection.prepare('SELECT * FROM queue_instance WHERE account_id = ? ORDER BY seq');
    this.updateInstance = connection.prepare(
      `UPDATE queue_instance SET name = ?, account_id = ?, plan = ?, budget_dollars = ?, budget_alert_url = ?,
         price = ?, outbound_rules = ?, key_pairs = ?, workflow_origins = ?, signed_origins = ?
       WHERE instance_id = ?`,
    );
    this.updateSigningKeys = connection.prepare(
      'UPDATE queue_instance SET current_signing_key = ?, next_signing_key = ? WHERE instance_id = ?',
    );
    this.updateKeys = connection.prepare(
      `UPDATE queue_instance SET current_signing_key = ?, next_signing_key = ?, key_pairs = ?
       WHERE instance_id = ? AND current_signing_key = ? AND next_signing_key = ? AND key_pairs IS ?`,
    );
    this.updateWorkflowOrigins = connection.prepare('UPDATE queue_instance SET workflow_origins = ? WHERE instance_id = ?');
    this.requireAccount = createAccountCheck(connection);
    this.insertToken = connection.prepare(
      'INSERT INTO token (token_id, instance_id, access, created_at, revoked_at) VALUES (?, ?, ?, ?, ?)',
    );
    this.selectToken = connection.prepare('SELECT * FROM token WHERE token_id = ?');
    this.selectTokens = connection.prepare('SELECT * FROM token WHERE instance_id = ? ORDER BY seq');
    this.updateRevoked = connection.prepare('UPDATE token SET revoked_at = coalesce(revoked_at, ?) WHERE token_id = ?');
  }

  /** Throws when the id is taken, or when the account does not exist (any more). */
  create(instance: QueueInstance): void {
    const { instanceId, region, name, createdAt, currentSigningKey, nextSigningKey } = instance;
    if (instance.accountId !== undefined) this.requireAccount(instance.accountId);
    const keys = [currentSigningKey, nextSigningKey];
    this.insertInstance.run(instanceId, region, name, createdAt, ...keys, ...choicesIn(instance));
  }

  find(instanceId: string): QueueInstance | null {
    const row = this.selectInstance.get(instanceId);
    return row ? instanceOf(row) : null;
  }

  /** By creation. */
  list(): readonly QueueInstance[] {
    return this.selectInstances.all().map(instanceOf);
  }

  /** By creation. */
  ofAccounts(accountIds: readonly string[]): readonly QueueInstance[] {
    const rows = [...new Set(accountIds)].flatMap((accountId) => this.selectOfAccount.all(accountId));
    return rows.sort((a, b) => integer(a, 'seq') - integer(b, 'seq')).map(instanceOf);
  }

  /** Null when there is none. Throws when the new account does not exist (any more). */
  change(instanceId: string, change: InstanceChange): QueueInstance | null {
    const row = this.selectInstance.get(instanceId);
    if (!row) return null;
    if (change.accountId !== undefined) this.requireAccount(change.accountId);
    const { name = text(row, 'name'), ...chosen } = change;
    this.updateInstance.run(name, ...choicesIn({ ...choicesOf(row), ...chosen }), instanceId);
    return this.find(instanceId);
  }

  addWorkflowOrigin(instanceId: string, origin: string, limit: number): void {
    const known = this.find(instanceId)?.workflowOrigins ?? [];
    if (known.includes(origin) || known.length >= limit) return;
    this.updateWorkflowOrigins.run(JSON.stringify([...known, origin]), instanceId);
  }

  /** Throws when there is no such instance. */
  setSigningKeys(instanceId: string, current: string, next: string): void {
    const { changes } = this.updateSigningKeys.run(current, next, instanceId);
    if (changes !== 1) throw new Error(`there is no queue instance ${instanceId}`);
  }

  /** False when the keys are not `from`. */
  replaceKeys(instanceId: string, from: InstanceKeys, to: InstanceKeys): boolean {
    return this.updateKeys.run(...keysIn(to), instanceId, ...keysIn(from)).changes === 1;
  }

  /** Throws when the id is taken. */
  createToken({ tokenId, instanceId, access, createdAt, revokedAt }: TokenRecord): void {
    this.insertToken.run(tokenId, instanceId, access, createdAt, revokedAt);
  }

  findToken(tokenId: string): TokenRecord | null {
    const row = this.selectToken.get(tokenId);
    return row ? tokenOf(row) : null;
  }

  /** By creation. */
  listTokens(instanceId: string): readonly TokenRecord[] {
    return this.selectTokens.all(instanceId).map(tokenOf);
  }

  /** A token that is revoked already keeps its first time. */
  revokeToken(tokenId: string, at: number): void {
    this.updateRevoked.run(at, tokenId);
  }

  /** Returns the ids of the tokens that were good until now. */
  replaceTokens(instanceId: string, tokens: readonly TokenRecord[], at: number): readonly string[] {
    const revoked = this.listTokens(instanceId)
      .filter(({ revokedAt }) => revokedAt === null)
      .map(({ tokenId }) => tokenId);
    for (const tokenId of revoked) this.revokeToken(tokenId, at);
    for (const token of tokens) this.createToken(token);
    return revoked;
  }
}
