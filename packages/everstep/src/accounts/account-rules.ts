/**
 * What all rules of accounts share: ids, audit entries, whether somebody may do
 * something, and that changes come one after the other, so that nothing changes
 * between the check of a right and the write.
 */
import { newKey } from '../engine/ids.js';
import type { AccountStore, AuditEntry, Role } from '../ports/account-store.js';
import type { Random } from '../ports/random.js';
import { type Outcome, type Principal, RIGHTS, type Right } from './account-service.js';

const SECRET_BYTES = 32;

export type NotDone = Exclude<Outcome<never>, { readonly kind: 'done' }>;

export const done = <Value>(value: Value): Outcome<Value> => ({ kind: 'done', value });
export const refuse = <Kind extends NotDone['kind']>(
  kind: Kind,
  message: string,
): { readonly kind: Kind; readonly message: string } => ({
  kind,
  message,
});
/** The same for an id that does not exist and for one of somebody else. */
export const notFound = (what: string): NotDone => refuse('not-found', `there is no ${what} of this id, or it is not yours`);

const RIGHT_WORDS: Readonly<Record<Right, string>> = {
  see: 'see this',
  use: 'use this',
  change: 'change this',
  pay: 'change what is paid',
  'manage-members': 'change the members',
  'give-away': 'move or delete what the account owns',
};

/** A role in an account that has the right, or why not. */
export type Allowed = { readonly kind: 'allowed'; readonly role: Role } | NotDone;

/** What is told of a change. */
export interface Change {
  readonly action: string;
  readonly subject: string;
  readonly details?: AuditEntry['details'];
  readonly accountIds: readonly string[];
}

/** The latest change on each store: all rules on one store take turns, whichever part of the service they belong to. */
const latestChanges = new WeakMap<AccountStore, Promise<unknown>>();

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
    return { auditId: this.newId('aud'), at: this.now(), actor: user.email, action, subject, details, address, accountIds };
  }

  /** `what` is what the id was said to be of: `team`. */
  async allowed({ user }: Principal, accountId: string | undefined, right: Right, what: string): Promise<Allowed> {
    const role = accountId === undefined ? null : await this.accounts.roleOf({ accountId, userId: user.userId });
    if (role === null || !RIGHTS[role].includes('see')) return notFound(what);
    if (RIGHTS[role].includes(right)) return { kind: 'allowed', role };
    return refuse('forbidden', `the role ${role} may not ${RIGHT_WORDS[right]}`);
  }

  /** Begins when every earlier change has ended, however it ended. */
  inTurn<Value>(change: () => Promise<Value>): Promise<Value> {
    const earlier = latestChanges.get(this.accounts) ?? Promise.resolve();
    const turn = earlier.then(change);
    // Whoever asked for the change is told of its failure; the next one begins all the same.
    latestChanges.set(
      this.accounts,
      turn.catch(() => undefined),
    );
    return turn;
  }
}
