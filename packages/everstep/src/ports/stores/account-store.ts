/**
 * The account data in the store: users, teams, queue instances and their tokens, usage, the audit log. Accounts change rarely.
 * Each method is one durable transaction, and every change writes its audit entry in the same transaction.
 */
import type { AuditEntryStore } from './accounts/audit-entries.js';
import type { BudgetAlertStore } from './accounts/budget-alerts.js';
import type { DeletedInstanceStore } from './accounts/deleted-instances.js';
import type { InstallationSecretStore } from './accounts/installation-secrets.js';
import type { InstanceStore } from './accounts/instances.js';
import type { NamedTokenStore } from './accounts/named-tokens.js';
import type { AccountId } from './accounts/records.js';
import type { SessionStore } from './accounts/sessions.js';
import type { SignInStore } from './accounts/sign-in.js';
import type { TeamStore } from './accounts/teams.js';
import type { TokenStore } from './accounts/tokens.js';
import type { UsageStore } from './accounts/usage.js';
import type { UserStore } from './accounts/users.js';

export * from './accounts/audit-entries.js';
export * from './accounts/budget-alerts.js';
export * from './accounts/deleted-instances.js';
export * from './accounts/installation-secrets.js';
export * from './accounts/instances.js';
export * from './accounts/named-tokens.js';
export * from './accounts/records.js';
export * from './accounts/sessions.js';
export * from './accounts/sign-in.js';
export * from './accounts/teams.js';
export * from './accounts/tokens.js';
export * from './accounts/usage.js';
export * from './accounts/users.js';

/** The store of accounts. Code that needs only one part depends on the interface of that part. */
export interface AccountStore
  extends UserStore,
    SessionStore,
    SignInStore,
    TeamStore,
    InstanceStore,
    DeletedInstanceStore,
    TokenStore,
    NamedTokenStore,
    UsageStore,
    BudgetAlertStore,
    AuditEntryStore,
    InstallationSecretStore {
  /**
   * Runs `work` while no other process runs exclusive work on any of these accounts; null means all accounts. Other callers
   * wait. Must not be nested. Absent if no other process uses the store.
   */
  readonly runExclusively?: <Result>(work: () => Promise<Result>, accountIds: readonly AccountId[] | null) => Promise<Result>;
}
