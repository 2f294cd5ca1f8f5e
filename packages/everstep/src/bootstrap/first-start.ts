/**
 * The first start makes what nobody can ask for yet: the first user with an
 * API key, a queue instance that this user owns, its tokens. Later starts find
 * all of it again, and give what is lost anew to the user who is there.
 */
import { hashOfApiKey } from '../accounts/api-key-hash.js';
import { newKey } from '../engine/ids.js';
import type { Clock } from '../ports/clock.js';
import type { Random } from '../ports/random.js';
import type { AccountStore, ApiKeyRecord, AuditEntry, QueueInstance, UserRecord } from '../ports/store.js';
import { type Credentials, keepCredentials, readCredentials, setCredentialsAside } from './credentials.js';

const SECRET_BYTES = 32;
/** Who did what happens at a start, and from where: no request asked for it. */
const OPERATOR = { actor: 'operator', address: 'start' } as const;

/** What is needed of the authority over tokens and signing keys. */
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

export interface Started {
  readonly credentials: Credentials;
  /**
   * `first`: everything was made now. `reissued`: the store knows the queue instance, but the data directory had no
   * credentials for it (any more), so new ones were made. `known`: nothing was made.
   */
  readonly kind: 'first' | 'reissued' | 'known';
  /** Where credentials of another store went that lay in the data directory. */
  readonly setAside: string | null;
}

/** One of several processes that share the store: somebody else has the credentials. */
export interface Joined {
  readonly kind: 'joined';
  readonly credentials: null;
  readonly setAside: string | null;
}

export interface SharedStartOptions extends FirstStartOptions {
  /** Does the work while no other process on the same store does such work; the others wait. */
  readonly exclusively: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

/** In the store from when the credentials of the first start lay in a data directory: nobody gets others by starting. */
const CREDENTIALS_TOLD = 'credentials-told';

/**
 * The same for one of several processes, which may all start at once on an empty store, each with a data directory of its
 * own. One of them makes what the first start makes; the others start without credentials, and so does whoever comes later.
 * When the one ended before its credentials were kept, the next one keeps others for the same user and queue instance.
 */
export function startSharedAccounts(options: SharedStartOptions): Promise<Started | Joined> {
  const { accounts, dataDir, clock } = options;
  return options.exclusively(async () => {
    const kept = await readCredentials(dataDir);
    const isOurs = kept !== null && (await accounts.findInstance({ instanceId: kept.instanceId })) !== null;
    if (!isOurs && (await accounts.findSecret({ name: CREDENTIALS_TOLD })) !== null) {
      const setAside = kept ? await setCredentialsAside(dataDir, kept) : null;
      return { kind: 'joined', credentials: null, setAside };
    }
    const started = await startAccounts(options);
    await accounts.secret({ name: CREDENTIALS_TOLD, value: String(clock.now()) });
    return started;
  });
}

/** A user with an API key that was made just now, which is known this once. */
interface Keyed {
  readonly user: UserRecord;
  readonly adminApiKey: string;
}

export async function startAccounts(options: FirstStartOptions): Promise<Started> {
  const { accounts, authority, clock, random, dataDir } = options;
  const secret = (prefix: string): string => `${prefix}_${Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url')}`;
  const newId = (prefix: string): string => `${prefix}_${newKey({ now: clock.now(), random })}`;

  const audit = (userId: string, told: Pick<AuditEntry, 'action' | 'subject' | 'details'>): AuditEntry => {
    return { auditId: newId('aud'), at: clock.now(), ...OPERATOR, ...told, accountIds: [userId] };
  };

  async function makeInstance({ userId }: UserRecord): Promise<QueueInstance> {
    const { region } = options;
    const instance: QueueInstance = {
      instanceId: newId('qi'),
      region,
      name: 'default',
      createdAt: clock.now(),
      currentSigningKey: secret('sig'),
      nextSigningKey: secret('sig'),
      accountId: userId,
    };
    const { instanceId: subject, name } = instance;
    await accounts.createInstance(instance, audit(userId, { action: 'queue.create', subject, details: { name, region } }));
    return instance;
  }

  const newApiKey = (userId: string, name: string): { readonly adminApiKey: string; readonly apiKey: ApiKeyRecord } => {
    const adminApiKey = secret('ek');
    const keyHash = hashOfApiKey(adminApiKey);
    return { adminApiKey, apiKey: { apiKeyId: newId('key'), userId, name, keyHash, createdAt: clock.now() } };
  };

  async function makeUser(): Promise<Keyed> {
    const user: UserRecord = {
      userId: newId('usr'),
      email: options.adminEmail.toLowerCase(),
      createdAt: clock.now(),
      isOperator: true,
    };
    const { adminApiKey, apiKey } = newApiKey(user.userId, 'first');
    const told = { action: 'user.create', subject: user.userId, details: { email: user.email } };
    await accounts.createUser({ user, apiKey, audit: audit(user.userId, told) });
    return { user, adminApiKey };
  }

  /** A further key for the user, whose other keys stay good; a new user when there is none. */
  async function keyFor(user: UserRecord | undefined): Promise<Keyed> {
    if (!user) return makeUser();
    const { adminApiKey, apiKey } = newApiKey(user.userId, 'made at a start');
    const { apiKeyId: subject, name } = apiKey;
    const told = { action: 'api-key.create', subject, details: { name } };
    await accounts.createApiKey({ apiKey, audit: audit(user.userId, told) });
    return { user, adminApiKey };
  }

  async function issue(instance: QueueInstance, { user, adminApiKey }: Keyed): Promise<Credentials> {
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
    await keepCredentials(dataDir, credentials);
    return credentials;
  }

  /** Instances made before there were accounts. */
  async function giveOwnerless({ userId }: UserRecord): Promise<void> {
    for (const { instanceId, accountId } of await accounts.listInstances()) {
      if (accountId !== undefined) continue;
      const told = { action: 'queue.give', subject: instanceId, details: { to: userId } };
      await accounts.changeInstance({ instanceId, change: { accountId: userId }, audit: audit(userId, told) });
    }
  }

  const kept = await readCredentials(dataDir);
  const known = kept && (await accounts.findInstance({ instanceId: kept.instanceId }));
  const setAside = kept && !known ? await setCredentialsAside(dataDir, kept) : null;
  const users = await accounts.listUsers();
  const firstOperator = users.find(({ isOperator, disabledAt }) => isOperator === true && disabledAt === undefined);
  if (kept && known) {
    // Before there were accounts, lost credentials made a further user: the one whose key is kept is who can log in.
    const user = users.find(({ email }) => email === kept.adminEmail.toLowerCase());
    const keyed = user ? { user, adminApiKey: kept.adminApiKey } : await keyFor(firstOperator);
    await giveOwnerless(keyed.user);
    const { instanceId, currentSigningKey, nextSigningKey } = known;
    const valid = (token: string) => authority.isValid(token, instanceId);
    const token = (await valid(kept.token)) ? kept.token : await authority.issueToken({ instanceId, access: 'read-write' });
    const readOnlyToken = (await valid(kept.readOnlyToken))
      ? kept.readOnlyToken
      : await authority.issueToken({ instanceId, access: 'read-only' });
    const login = { adminEmail: keyed.user.email, adminApiKey: keyed.adminApiKey };
    const credentials = { ...kept, currentSigningKey, nextSigningKey, token, readOnlyToken, ...login };
    await keepCredentials(dataDir, credentials);
    const same = user && token === kept.token && readOnlyToken === kept.readOnlyToken;
    return { credentials, kind: same ? 'known' : 'reissued', setAside };
  }
  const [oldest] = [...(await accounts.listInstances())].sort((a, b) => a.createdAt - b.createdAt);
  const keyed = await keyFor(users.find(({ userId }) => userId === oldest?.accountId) ?? users[0]);
  await giveOwnerless(keyed.user);
  const credentials = await issue(oldest ?? (await makeInstance(keyed.user)), keyed);
  return { credentials, kind: oldest ? 'reissued' : 'first', setAside };
}
