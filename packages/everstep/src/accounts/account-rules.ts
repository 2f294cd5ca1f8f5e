/**
 * Shared parts of all account rules: ids, audit entries, rights, and the order of changes. The changes of an account run one
 * at a time, so that nothing changes between the check of a right and the write.
 * Keeps invariant 37.
 */
import { markWithRequest } from '../audit/audited-request.js';
import { newKey } from '../engine/ids.js';
import type { Random } from '../ports/random.js';
import type { AccountId, AccountStore, AuditEntry, Role } from '../ports/stores/account-store.js';
import { type Outcome, type Principal, RIGHTS, type Right } from './account-service.js';
import { Turns } from './quotas/turns.js';
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

const RIGHT_TEXTS: Readonly<Record<Right, string>> = {
  see: 'see this',
  use: 'use this',
  change: 'change this',
  pay: 'change the billing settings',
  'manage-members': 'manage the members',
  transfer: 'move or delete what the account owns',
};

/** The role of a caller who has the right, or the reason for the refusal. */
export type RightCheck = { readonly kind: 'allowed'; readonly role: Role } | Refusal;

/** A change as recorded in the audit log. */
export interface Change {
  readonly action: string;
  readonly subject: string;
  readonly details?: AuditEntry['details'];
  readonly accountIds: readonly string[];
}

/** All rules on one store share its turns, whichever part of the server uses them. */
const turnsByStore = new WeakMap<AccountStore, Turns>();

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
    return markWithRequest({ auditId: this.newId('aud'), at: this.now(), action, subject, details, actor, address, accountIds });
  }

  /** Checks a right of a user in an account. `objectKind` is the kind of object that the id identifies, such as `team`. */
  async checkRight({ user }: Principal, accountId: string | undefined, right: Right, objectKind: string): Promise<RightCheck> {
    const role = accountId === undefined ? null : await this.accounts.roleOf({ accountId, userId: user.userId });
    if (role === null || !RIGHTS[role].includes('see')) return notFound(objectKind);
    if (RIGHTS[role].includes(right)) return { kind: 'allowed', role };
    return refuse('forbidden', `the role ${role} cannot ${RIGHT_TEXTS[right]}`);
  }

  /**
   * Checks whether the credential of the request is still valid. A change can wait for its turn after the credential was
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
  inTurn<Value>(change: () => Promise<Value>, accountIds: readonly AccountId[] | null = null): Promise<Value> {
    const { exclusively } = this.accounts;
    const turns = turnsByStore.get(this.accounts) ?? new Turns();
    turnsByStore.set(this.accounts, turns);
    return turns.take(accountIds, () => (exclusively ? exclusively(change, accountIds) : change()));
  }

  /**
   * Like `inTurn`, for a change that a user requests. Refuses it if the credential of the request is no longer valid. Also takes
   * the turn of the user, so that the credential is not revoked between the check and the change.
   */
  inTurnOfUser<Value>(
    principal: Principal,
    change: () => Promise<Outcome<Value>>,
    accountIds: readonly AccountId[] | null = null,
  ): Promise<Outcome<Value>> {
    const changeIfAllowed = async () => (await this.refusalOfCredential(principal)) ?? change();
    return this.inTurn(changeIfAllowed, accountIds && [...accountIds, principal.user.userId]);
  }

  /**
   * Runs a change of an object after the earlier changes of the account that owns the object. If a user requests it, the
   * credential is checked as in `inTurnOfUser`; `principal` is null if the request has no credential.
   */
  async inTurnOfOwner<Value>(
    principal: Principal | null,
    findOwnerId: () => Promise<string | null>,
    change: () => Promise<Outcome<Value>>,
  ): Promise<Outcome<Value>> {
    for (;;) {
      const ownerId = await findOwnerId();
      // The owner may have changed while the change waited for its turn.
      const changeIfSameOwner = async () => done((await findOwnerId()) === ownerId ? await change() : null);
      const accountIds = [ownerId ?? NO_OWNER];
      const result = await (principal
        ? this.inTurnOfUser(principal, changeIfSameOwner, accountIds)
        : this.inTurn(changeIfSameOwner, accountIds));
      if (result.kind !== 'done') return result;
      if (result.value) return result.value;
    }
  }

  inTurnOfInstance<Value>(
    principal: Principal,
    instanceId: string,
    change: () => Promise<Outcome<Value>>,
  ): Promise<Outcome<Value>> {
    const findOwnerId = async () => (await this.accounts.findInstance({ instanceId }))?.accountId ?? null;
    return this.inTurnOfOwner(principal, findOwnerId, change);
  }
}
