/**
 * The first start creates the records that no request can create: the first user with an API key, a queue instance owned by
 * this user, and its tokens. Later starts use them again, and issue new credentials to the existing user if the stored ones are
 * lost.
 */
import { hashOfApiKey } from '../accounts/users/api-key-hash.js';
import { newKey } from '../engine/ids.js';
import type { Clock } from '../ports/clock.js';
import type { Random } from '../ports/random.js';
import type { AccountStore, ApiKeyRecord, AuditEntry, QueueInstance, UserRecord } from '../ports/stores/store.js';
import { type Credentials, readCredentials, setCredentialsAside, storeCredentials } from './credentials.js';

const SECRET_BYTES = 32;
/** Actor and address in the audit log entries of a start, which has no request. */
const START_AUDIT_ORIGIN = { actor: 'operator', address: 'start' } as const;

/** The operations on tokens that a start requires. */
export interface TokenAuthority {
  issueToken(request: { readonly instanceId: string; readonly access: 'read-write' | 'read-only' }): Promise<string>;
  isValid(token: string, instanceId: string): Promise<boolean>;
}

export interface FirstStartOptions {
  readonly dataDir: string;
  readonly region: string;
  readonly adminEmail: string;
  readonly accounts: AccountStore;
  readonly authority: TokenAuthority;
  readonly clock: Clock;
  readonly random: Random;
}

export interface StartedInstallation {
  readonly credentials: Credentials;
  /**
   * `first` means that everything was created now; `existing`, that nothing was created; `reissued`, that the queue instance
   * existed but its credentials were missing from the data directory or invalid, so new ones were created.
   */
  readonly kind: 'first' | 'reissued' | 'existing';
  /** New path of credentials of another store that were in the data directory. */
  readonly setAsidePath: string | null;
}

/** Result of a start that joined a shared store. Another process has the credentials. */
export interface JoinedStore {
  readonly kind: 'joined';
  readonly credentials: null;
  readonly setAsidePath: string | null;
}

export interface SharedStartOptions extends FirstStartOptions {
  /** Runs the work exclusively: other processes on the same store wait until it is done. */
  readonly runExclusively: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

/** Name of the record that marks the credentials of the first start as stored. Once it exists, a start without them joins. */
const CREDENTIALS_ISSUED_RECORD = 'credentials-told';

/**
 * Prepares the accounts for one of several processes, which may all start at the same time on an empty store with separate data
 * directories. One of them acts as the first start; the others, and later ones, start without credentials. If that process
 * ends before its credentials are stored, the next one issues new credentials for the same user and queue instance.
 */
export function startSharedAccounts(options: SharedStartOptions): Promise<StartedInstallation | JoinedStore> {
  const { accounts, dataDir, clock } = options;
  return options.runExclusively(async () => {
    const storedCredentials = await readCredentials(dataDir);
    const isOfThisStore =
      storedCredentials !== null && (await accounts.findInstance({ instanceId: storedCredentials.instanceId })) !== null;
    if (!isOfThisStore && (await accounts.findSecret({ name: CREDENTIALS_ISSUED_RECORD })) !== null) {
      const setAsidePath = storedCredentials ? await setCredentialsAside(dataDir, storedCredentials) : null;
      return { kind: 'joined', credentials: null, setAsidePath };
    }
    const installation = await startAccounts(options);
    await accounts.findOrCreateSecret({ name: CREDENTIALS_ISSUED_RECORD, value: String(clock.now()) });
    return installation;
  });
}

/** A user with an API key in plain text. The store contains only its hash. */
interface UserWithKey {
  readonly user: UserRecord;
  readonly adminApiKey: string;
}

/** Issues tokens for the instance and stores them with the key of the user. */
async function issueCredentials(
  { authority, dataDir }: Pick<FirstStartOptions, 'authority' | 'dataDir'>,
  instance: QueueInstance,
  { user, adminApiKey }: UserWithKey,
): Promise<Credentials> {
  const { instanceId } = instance;
  const credentials: Credentials = {
    instanceId,
    region: instance.region,
    token: await authority.issueToken({ instanceId, access: 'read-write' }),
    readOnlyToken: await authority.issueToken({ instanceId, access: 'read-only' }),
    currentSigningKey: instance.currentSigningKey,
    nextSigningKey: instance.nextSigningKey,
    adminEmail: user.email,
    adminApiKey,
  };
  await storeCredentials(dataDir, credentials);
  return credentials;
}

const isEnabled = ({ disabledAt }: UserRecord): boolean => disabledAt === undefined;

/** Returns the owner of the instance. A disabled user gets no key: it would be valid once the user is enabled again. */
const enabledOwnerOf = (instance: QueueInstance | undefined, users: readonly UserRecord[]): UserRecord | undefined =>
  users.find((user) => user.userId === instance?.accountId && isEnabled(user));

/** Prepares the accounts for the only process on its store. */
export async function startAccounts(options: FirstStartOptions): Promise<StartedInstallation> {
  const { accounts, authority, clock, random, dataDir } = options;
  const newSecret = (prefix: string): string => `${prefix}_${Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url')}`;
  const newId = (prefix: string): string => `${prefix}_${newKey({ now: clock.now(), random })}`;

  const auditEntry = (userId: string, change: Pick<AuditEntry, 'action' | 'subject' | 'details'>): AuditEntry => {
    return { auditId: newId('aud'), at: clock.now(), ...START_AUDIT_ORIGIN, ...change, accountIds: [userId] };
  };

  async function makeInstance({ userId }: UserRecord): Promise<QueueInstance> {
    const { region } = options;
    const instance: QueueInstance = {
      instanceId: newId('qi'),
      region,
      name: 'default',
      createdAt: clock.now(),
      currentSigningKey: newSecret('sig'),
      nextSigningKey: newSecret('sig'),
      accountId: userId,
    };
    const { instanceId: subject, name } = instance;
    await accounts.createInstance(instance, auditEntry(userId, { action: 'queue.create', subject, details: { name, region } }));
    return instance;
  }

  const newApiKey = (userId: string, name: string): { readonly adminApiKey: string; readonly apiKey: ApiKeyRecord } => {
    const adminApiKey = newSecret('ek');
    const keyHash = hashOfApiKey(adminApiKey);
    return { adminApiKey, apiKey: { apiKeyId: newId('key'), userId, name, keyHash, createdAt: clock.now() } };
  };

  async function makeUser(): Promise<UserWithKey> {
    const user: UserRecord = {
      userId: newId('usr'),
      email: options.adminEmail.toLowerCase(),
      createdAt: clock.now(),
      isOperator: true,
    };
    const { adminApiKey, apiKey } = newApiKey(user.userId, 'first');
    const change = { action: 'user.create', subject: user.userId, details: { email: user.email } };
    await accounts.createUser({ user, apiKey, audit: auditEntry(user.userId, change) });
    return { user, adminApiKey };
  }

  /** Creates another key for the user, whose other keys stay valid. Creates a new user if none exists. */
  async function createKeyFor(user: UserRecord | undefined): Promise<UserWithKey> {
    if (!user) return makeUser();
    const { adminApiKey, apiKey } = newApiKey(user.userId, 'created at startup');
    const { apiKeyId: subject, name } = apiKey;
    const change = { action: 'api-key.create', subject, details: { name } };
    await accounts.createApiKey({ apiKey, audit: auditEntry(user.userId, change) });
    return { user, adminApiKey };
  }

  /** Assigns an owner to instances created before accounts existed. */
  async function assignOwners({ userId }: UserRecord): Promise<void> {
    for (const { instanceId, accountId } of await accounts.listInstances()) {
      if (accountId !== undefined) continue;
      const change = { action: 'queue.give', subject: instanceId, details: { to: userId } };
      await accounts.changeInstance({ instanceId, change: { accountId: userId }, audit: auditEntry(userId, change) });
    }
  }

  const storedCredentials = await readCredentials(dataDir);
  const existingInstance = storedCredentials && (await accounts.findInstance({ instanceId: storedCredentials.instanceId }));
  const setAsidePath = storedCredentials && !existingInstance ? await setCredentialsAside(dataDir, storedCredentials) : null;
  const users = await accounts.listUsers();
  const firstOperator = users.find((user) => user.isOperator === true && isEnabled(user));
  if (storedCredentials && existingInstance) {
    // Before accounts existed, lost credentials created another user. The user of the stored key is the one that can sign in.
    const user = users.find(({ email }) => email === storedCredentials.adminEmail.toLowerCase());
    const userWithKey = user ? { user, adminApiKey: storedCredentials.adminApiKey } : await createKeyFor(firstOperator);
    await assignOwners(userWithKey.user);
    const { instanceId, currentSigningKey, nextSigningKey } = existingInstance;
    const validOrNew = async (token: string, access: 'read-write' | 'read-only') =>
      (await authority.isValid(token, instanceId)) ? token : authority.issueToken({ instanceId, access });
    const token = await validOrNew(storedCredentials.token, 'read-write');
    const readOnlyToken = await validOrNew(storedCredentials.readOnlyToken, 'read-only');
    const login = { adminEmail: userWithKey.user.email, adminApiKey: userWithKey.adminApiKey };
    const credentials = { ...storedCredentials, currentSigningKey, nextSigningKey, token, readOnlyToken, ...login };
    await storeCredentials(dataDir, credentials);
    const isUnchanged = user && token === storedCredentials.token && readOnlyToken === storedCredentials.readOnlyToken;
    return { credentials, kind: isUnchanged ? 'existing' : 'reissued', setAsidePath };
  }
  const [oldestInstance] = [...(await accounts.listInstances())].sort((a, b) => a.createdAt - b.createdAt);
  const userWithKey = await createKeyFor(enabledOwnerOf(oldestInstance, users) ?? firstOperator ?? users.find(isEnabled));
  await assignOwners(userWithKey.user);
  const credentials = await issueCredentials(options, oldestInstance ?? (await makeInstance(userWithKey.user)), userWithKey);
  return { credentials, kind: oldestInstance ? 'reissued' : 'first', setAsidePath };
}
