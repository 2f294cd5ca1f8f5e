/**
 * What all rules of accounts share: ids, audit entries, whether somebody may do
 * something, and that changes come one after the other, so that nothing changes
 * between the check of a right and the write.
 */
import { ofThisRequest } from '../audit/audited-request.js';
import { newKey } from '../engine/ids.js';
import type { AccountId, AccountStore, AuditEntry, Role } from '../ports/account-store.js';
import type { Random } from '../ports/random.js';
import { type Outcome, type Principal, RIGHTS, type Right } from './account-service.js';
import { Turns } from './quotas/turns.js';

const SECRET_BYTES = 32;
/** The turn of what does not exist, or has no owner yet. */
const OWNED_BY_NOBODY = '';

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

/** All rules on one store take turns, whichever part of the service they belong to. */
const turnsOf = new WeakMap<AccountStore, Turns>();

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
    const who = { actor: user.email, address, accountIds };
    return ofThisRequest({ auditId: this.newId('aud'), at: this.now(), action, subject, details, ...who });
  }

  /** `what` is what the id was said to be of: `team`. */
  async allowed({ user }: Principal, accountId: string | undefined, right: Right, what: string): Promise<Allowed> {
    const role = accountId === undefined ? null : await this.accounts.roleOf({ accountId, userId: user.userId });
    if (role === null || !RIGHTS[role].includes('see')) return notFound(what);
    if (RIGHTS[role].includes(right)) return { kind: 'allowed', role };
    return refuse('forbidden', `the role ${role} may not ${RIGHT_WORDS[right]}`);
  }

  /**
   * Starts when every earlier change of one of these accounts, or of all accounts, has ended, however it ended, also those of
   * other processes on the store. `accountIds` null: a change of all accounts, which waits for every earlier one.
   */
  inTurn<Value>(change: () => Promise<Value>, accountIds: readonly AccountId[] | null = null): Promise<Value> {
    const { exclusively } = this.accounts;
    const turns = turnsOf.get(this.accounts) ?? new Turns();
    turnsOf.set(this.accounts, turns);
    return turns.take(accountIds, () => (exclusively ? exclusively(change, accountIds) : change()));
  }

  /** The same for a change of something that an account owns, in the turn of that account. */
  async inTurnOfOwner<Value>(ownerOf: () => Promise<string | null>, change: () => Promise<Value>): Promise<Value> {
    for (;;) {
      const owner = await ownerOf();
      // It may have moved while this waited for its turn.
      const inTurn = async () => ((await ownerOf()) === owner ? { value: await change() } : null);
      const made = await this.inTurn(inTurn, [owner ?? OWNED_BY_NOBODY]);
      if (made) return made.value;
    }
  }

  inTurnOfInstance<Value>(instanceId: string, change: () => Promise<Value>): Promise<Value> {
    const ownerOf = async () => (await this.accounts.findInstance({ instanceId }))?.accountId ?? null;
    return this.inTurnOfOwner(ownerOf, change);
  }
}
