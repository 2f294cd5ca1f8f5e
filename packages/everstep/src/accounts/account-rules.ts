/**
 * Shared parts of all account rules: ids, audit entries, permissions, and the order of changes. The changes of an account run one
 * at a time, so that nothing changes between the check of a permission and the write.
 * Keeps invariant 37.
 */
import { withRequestDetails } from '../audit/audited-request.js';
import { newKey } from '../engine/ids.js';
import type { Random } from '../ports/random.js';
import type { AccountId, AccountStore, AuditEntry, Role } from '../ports/stores/account-store.js';
import { type Outcome, PERMISSIONS, type Permission, type Principal } from './account-service.js';
import { AccountLocks } from './quotas/account-locks.js';
import { sessionIdOf } from './users/session-id.js';

const SECRET_BYTES = 32;
/** Account id for changes of objects that do not exist or have no owner yet. */
const NO_OWNER = '';

export type Refusal = Exclude<Outcome<never>, { readonly kind: 'done' }>;

export const done = <Value>(value: Value): Outcome<Value> => ({ kind: 'done', value });
export const refuse = <Kind extends Refusal['kind']>(
  kind: Kind,
  message: string,
): { readonly kind: Kind; readonly message: string } => ({
  kind,
  message,
});
/** Returns the refusal for an object that does not exist, which is also the refusal for one that the caller cannot see. */
export const notFound = (objectKind: string): Refusal =>
  refuse('not-found', `there is no ${objectKind} with this id, or you do not have access to it`);

const KEY_REVOKED = refuse(
  'bad-credential',
  'the API key was revoked or the user was disabled before the change was made; send the request with another API key',
);
const SESSION_ENDED = refuse(
  'session-ended',
  'the session ended or the user was disabled before the change was made; sign in again and repeat the request',
);

const PERMISSION_TEXTS: Readonly<Record<Permission, string>> = {
  see: 'see this',
  use: 'use this',
  change: 'change this',
  pay: 'change the billing settings',
  'manage-members': 'manage the members',
  transfer: 'move or delete what the account owns',
};

/** The role of a caller who has the permission, or the reason for the refusal. */
export type PermissionCheck = { readonly kind: 'allowed'; readonly role: Role } | Refusal;

/** A change as recorded in the audit log. */
export interface Change {
  readonly action: string;
  readonly subject: string;
  readonly details?: AuditEntry['details'];
  readonly accountIds: readonly string[];
}

/** All rules on one store share its locks, whichever part of the server uses them. */
const locksByStore = new WeakMap<AccountStore, AccountLocks>();

export class AccountRules {
  readonly accounts: AccountStore;
  readonly now: () => number;
  private readonly random: Random;

  constructor(options: { readonly accounts: AccountStore; readonly now: () => number; readonly random: Random }) {
    this.accounts = options.accounts;
    this.now = options.now;
    this.random = options.random;
  }

  newId(prefix: string): string {
    return `${prefix}_${newKey({ now: this.now(), random: this.random })}`;
  }

  newSecret(prefix: string): string {
    return `${prefix}_${Buffer.from(this.random.bytes(SECRET_BYTES)).toString('base64url')}`;
  }

  audit({ user, address }: Principal, change: Change): AuditEntry {
    const { action, subject, details = {}, accountIds } = change;
    const actor = user.email;
    return withRequestDetails({
      auditId: this.newId('aud'),
      at: this.now(),
      action,
      subject,
      details,
      actor,
      address,
      accountIds,
    });
  }

  /** Checks a permission of a user in an account. `objectKind` is the kind of object that the id identifies, such as `team`. */
  async checkPermission(
    { user }: Principal,
    accountId: string | undefined,
    permission: Permission,
    objectKind: string,
  ): Promise<PermissionCheck> {
    const role = accountId === undefined ? null : await this.accounts.roleOf({ accountId, userId: user.userId });
    if (role === null || !PERMISSIONS[role].includes('see')) return notFound(objectKind);
    if (PERMISSIONS[role].includes(permission)) return { kind: 'allowed', role };
    return refuse('forbidden', `the role ${role} cannot ${PERMISSION_TEXTS[permission]}`);
  }

  /**
   * Checks whether the credential of the request is still valid. A change can wait for the lock after the credential was
   * verified, and the earlier changes can revoke the credential. Returns null if it is valid.
   */
  private async refusalOfCredential({ user: { userId }, apiKeyId, sessionId }: Principal): Promise<Refusal | null> {
    const { accounts } = this;
    const refusal = sessionId === undefined ? KEY_REVOKED : SESSION_ENDED;
    const user = await accounts.findUser({ userId });
    if (!user || user.disabledAt !== undefined) return refusal;
    if (sessionId !== undefined) {
      const [sessions, at] = [await accounts.listSessions({ userId }), this.now()];
      const isOpen = sessions.some((session) => sessionIdOf(session.sessionHash) === sessionId && session.expiresAt > at);
      return isOpen ? null : refusal;
    }
    if (apiKeyId === undefined) return null;
    const keys = await accounts.listApiKeys({ userId });
    return keys.some((key) => key.apiKeyId === apiKeyId && key.revokedAt === undefined) ? null : refusal;
  }

  /**
   * Runs a change once every earlier change of these accounts has succeeded or failed, including changes made by other
   * processes on the store. Null means all accounts.
   */
  withLock<Value>(change: () => Promise<Value>, accountIds: readonly AccountId[] | null = null): Promise<Value> {
    const { runExclusively } = this.accounts;
    const locks = locksByStore.get(this.accounts) ?? new AccountLocks();
    locksByStore.set(this.accounts, locks);
    return locks.run(accountIds, () => (runExclusively ? runExclusively(change, accountIds) : change()));
  }

  /**
   * Like `withLock`, for a change that a user requests. Refuses it if the credential of the request is no longer valid. Also takes
   * the lock of the user, so that the credential is not revoked between the check and the change.
   */
  withUserLock<Value>(
    principal: Principal,
    change: () => Promise<Outcome<Value>>,
    accountIds: readonly AccountId[] | null = null,
  ): Promise<Outcome<Value>> {
    const changeIfAllowed = async () => (await this.refusalOfCredential(principal)) ?? change();
    return this.withLock(changeIfAllowed, accountIds && [...accountIds, principal.user.userId]);
  }

  /**
   * Runs a change of an object after the earlier changes of the account that owns the object. If a user requests it, the
   * credential is checked as in `withUserLock`; `principal` is null if the request has no credential.
   */
  async withOwnerLock<Value>(
    principal: Principal | null,
    findOwnerId: () => Promise<string | null>,
    change: () => Promise<Outcome<Value>>,
  ): Promise<Outcome<Value>> {
    for (;;) {
      const ownerId = await findOwnerId();
      // The owner may have changed while the change waited for the lock.
      const changeIfSameOwner = async () => done((await findOwnerId()) === ownerId ? await change() : null);
      const accountIds = [ownerId ?? NO_OWNER];
      const result = await (principal
        ? this.withUserLock(principal, changeIfSameOwner, accountIds)
        : this.withLock(changeIfSameOwner, accountIds));
      if (result.kind !== 'done') return result;
      if (result.value) return result.value;
    }
  }

  withInstanceLock<Value>(
    principal: Principal,
    instanceId: string,
    change: () => Promise<Outcome<Value>>,
  ): Promise<Outcome<Value>> {
    const findOwnerId = async () => (await this.accounts.findInstance({ instanceId }))?.accountId ?? null;
    return this.withOwnerLock(principal, findOwnerId, change);
  }
}
