/** Accounts: users, keys, teams, queue instances and their tokens, usage, the audit log. */
import type { AccountStore } from '../../ports/account-store.js';
import type { Database } from './connection.js';

export function createAccounts(_database: Database): AccountStore {
  return new Proxy({} as AccountStore, {
    get: () => () => Promise.reject(new Error('not built yet')),
  });
}
