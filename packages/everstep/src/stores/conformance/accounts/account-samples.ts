/** Users, teams, instances and audit log entries for the conformance tests. */
import type {
  AccountStore,
  ApiKeyRecord,
  AuditEntry,
  MemberRecord,
  QueueInstance,
  Role,
  TeamRecord,
  TokenRecord,
  UserRecord,
} from '../../../ports/stores/account-store.js';
import { T0 } from '../samples.js';

export const sampleUser = (name: string): UserRecord => ({
  userId: `usr_${name}`,
  email: `${name}@example.com`,
  createdAt: T0,
});

export const sampleApiKey = (name: string, overrides: Partial<ApiKeyRecord> = {}): ApiKeyRecord => ({
  apiKeyId: `key_${name}`,
  userId: `usr_${name}`,
  name: 'first',
  keyHash: `hash of ${name}`,
  createdAt: T0,
  ...overrides,
});

export const sampleTeam = (name: string): TeamRecord => ({ teamId: `team_${name}`, name: `the ${name}`, createdAt: T0 });

export const sampleMember = (team: string, user: string, role: Role, addedAt = T0): MemberRecord => ({
  teamId: `team_${team}`,
  userId: `usr_${user}`,
  email: `${user}@example.com`,
  role,
  addedAt,
});

export const sampleInstance = (instanceId: string, overrides: Partial<QueueInstance> = {}): QueueInstance => ({
  instanceId,
  region: 'eu-central-1',
  name: `name of ${instanceId}`,
  createdAt: T0,
  currentSigningKey: 'sig_current',
  nextSigningKey: 'sig_next',
  ...overrides,
});

export const sampleToken = (tokenId: string, instanceId: string): TokenRecord => ({
  tokenId,
  instanceId,
  access: 'read-write',
  createdAt: T0,
  revokedAt: null,
});

export const sampleAudit = (n: number, accountIds: readonly string[], overrides: Partial<AuditEntry> = {}): AuditEntry => ({
  auditId: `aud_${n}`,
  at: T0 + n,
  actor: 'ann@example.com',
  action: 'queue.change',
  subject: 'qi_a',
  details: { from: 0, to: 20.5, paused: false, plan: null, name: 'é' },
  address: '192.0.2.1',
  accountIds,
  ...overrides,
});

/** Creates these users, each with one key. */
export async function addUsers(accounts: AccountStore, ...names: readonly string[]): Promise<void> {
  for (const name of names) await accounts.createUser({ user: sampleUser(name), apiKey: sampleApiKey(name) });
}

/** Creates the team and its owner, who must be a user. */
export const addTeam = (accounts: AccountStore, team: string, owner: string): Promise<void> =>
  accounts.createTeam({ team: sampleTeam(team), owner: sampleMember(team, owner, 'owner') });
