/** Queue instances in the store. */
import type { InstanceTotals } from '../stored-bytes.js';
import type { AccountId, AuditEntry } from './records.js';
import type { TokenRecord } from './tokens.js';

/**
 * Rules for the destinations that an instance may call, in addition to the settings of the installation. A rule is, for example,
 * `10.0.0.5:8080`.
 */
export interface OutboundRules {
  /** Private destinations that the operator allows for this instance. */
  readonly allow: readonly string[];
  /** Destinations that the owner of the instance forbids. */
  readonly deny: readonly string[];
  /** The only destinations that the owner of the instance permits; null if there is no such restriction. */
  readonly only: readonly string[] | null;
}

/** A queue instance as it is stored. */
export interface QueueInstance {
  readonly instanceId: string;
  readonly region: string;
  readonly name: string;
  /** Time when the instance was created, Unix ms. */
  readonly createdAt: number;
  readonly currentSigningKey: string;
  readonly nextSigningKey: string;
  /**
   * Account that owns the instance and is billed for it; absent if it has no owner, because it was created by a
   * version without accounts.
   */
  readonly accountId?: AccountId;
  /** Name of its plan; absent for the default plan. */
  readonly plan?: string;
  /** Budget in dollars per calendar month (UTC); 0 or absent if there is no limit. */
  readonly budgetDollars?: number;
  /** URL that is notified when 80% and 100% of the budget are spent. */
  readonly budgetAlertUrl?: string;
  /** Price in dollars per 100,000 messages counted from now on; absent until it is first set. */
  readonly price?: number;
  /** Rules for the destinations that the instance may call; if absent, only the settings of the installation apply. */
  readonly outboundRules?: OutboundRules;
  /** Private keys of Ed25519 signatures, PKCS #8 in base64url; absent if Ed25519 signatures are disabled. */
  readonly keyPairs?: SigningKeyPairs;
  /** Origins that steps were delivered to; absent if there are none. */
  readonly workflowOrigins?: readonly string[];
  /** Origins and patterns that the owner set. Plain messages to them are signed with the signing keys. Absent if none are set. */
  readonly signedOrigins?: readonly string[];
}

/** The current pair signs; the next pair replaces it at the next rotation. */
export interface SigningKeyPairs {
  readonly current: string;
  readonly next: string;
}

/** Changes to an instance. Null removes a value; an absent field keeps its value. */
export interface InstanceChange {
  readonly accountId?: AccountId;
  readonly name?: string;
  readonly plan?: string | null;
  readonly budgetDollars?: number;
  readonly budgetAlertUrl?: string | null;
  /** New price, which also applies to messages counted while there was no price. */
  readonly price?: number;
  readonly outboundRules?: OutboundRules | null;
  readonly keyPairs?: SigningKeyPairs | null;
  readonly signedOrigins?: readonly string[] | null;
}

/** The secret keys of an instance. */
export type InstanceKeys = Pick<QueueInstance, 'currentSigningKey' | 'nextSigningKey' | 'keyPairs'>;

/** Stores queue instances. */
export interface InstanceStore {
  /** Creates an instance with its first tokens. Rejects if the id is taken, or if the account does not exist. */
  createInstance(instance: QueueInstance, audit?: AuditEntry, tokens?: readonly TokenRecord[]): Promise<void>;
  findInstance(query: { readonly instanceId: string }): Promise<QueueInstance | null>;
  /** Lists all instances, ordered by creation. */
  listInstances(): Promise<readonly QueueInstance[]>;
  /** Lists the instances of these accounts, ordered by creation. */
  instancesOf(query: { readonly accountIds: readonly AccountId[] }): Promise<readonly QueueInstance[]>;
  /**
   * Returns the stored bytes and active runs of each instance of the account, ordered by creation. The unit that changes the data
   * also changes these numbers.
   */
  totalsOf(query: { readonly accountId: AccountId }): Promise<readonly InstanceTotals[]>;
  /**
   * Changes an instance and returns it; null if there is none. A different budget (none and 0 are equal) or a different
   * owner removes all alerts of the instance, including pending ones.
   */
  changeInstance(query: {
    readonly instanceId: string;
    readonly change: InstanceChange;
    readonly audit?: AuditEntry;
  }): Promise<QueueInstance | null>;
  setSigningKeys(query: {
    readonly instanceId: string;
    readonly current: string;
    readonly next: string;
    readonly audit?: AuditEntry;
  }): Promise<void>;
  /** Replaces signing keys and key pairs if they equal `from`. Returns false without a change if they do not. */
  replaceInstanceKeys(query: {
    readonly instanceId: string;
    readonly from: InstanceKeys;
    readonly to: InstanceKeys;
  }): Promise<boolean>;
  /** Adds an origin to `workflowOrigins`, unless it is already there or `limit` is reached. */
  addWorkflowOrigin(query: { readonly instanceId: string; readonly origin: string; readonly limit: number }): Promise<void>;
}
