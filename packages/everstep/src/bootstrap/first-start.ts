/**
 * The first start makes what nobody can ask for yet: the first user with an
 * API key, a queue instance, its tokens. Later starts find all of it again.
 */
import { createHash } from 'node:crypto';
import { newKey } from '../engine/ids.js';
import type { Clock } from '../ports/clock.js';
import type { Random } from '../ports/random.js';
import type { AccountStore, QueueInstance } from '../ports/store.js';
import { type Credentials, keepCredentials, readCredentials, setCredentialsAside } from './credentials.js';

const SECRET_BYTES = 32;

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

/** SHA-256 in hex: what the store keeps of an API key. */
export const hashOfApiKey = (apiKey: string): string => createHash('sha256').update(apiKey).digest('hex');

export async function startAccounts(options: FirstStartOptions): Promise<Started> {
  const { accounts, authority, clock, random, dataDir } = options;
  const secret = (prefix: string): string => `${prefix}_${Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url')}`;
  const newId = (prefix: string): string => `${prefix}_${newKey({ now: clock.now(), random })}`;

  async function makeInstance(): Promise<QueueInstance> {
    const instance: QueueInstance = {
      instanceId: newId('qi'),
      region: options.region,
      name: 'default',
      createdAt: clock.now(),
      currentSigningKey: secret('sig'),
      nextSigningKey: secret('sig'),
    };
    await accounts.createInstance(instance);
    return instance;
  }

  /** An e-mail that is taken keeps its user: a lost key is replaced by that of a further user. */
  async function makeUser(): Promise<{ readonly adminEmail: string; readonly adminApiKey: string }> {
    const taken = new Set((await accounts.listUsers()).map(({ email }) => email));
    const [name = '', host = ''] = options.adminEmail.split('@');
    let adminEmail = options.adminEmail;
    for (let number = 2; taken.has(adminEmail); number++) adminEmail = `${name}+${number}@${host}`;
    const adminApiKey = secret('ek');
    const userId = newId('usr');
    const createdAt = clock.now();
    await accounts.createUser({
      user: { userId, email: adminEmail, createdAt },
      apiKey: { apiKeyId: newId('key'), userId, name: 'first', keyHash: hashOfApiKey(adminApiKey), createdAt },
    });
    return { adminEmail, adminApiKey };
  }

  async function issue(instance: QueueInstance): Promise<Credentials> {
    const { instanceId } = instance;
    const credentials: Credentials = {
      instanceId,
      region: instance.region,
      token: await authority.issueToken({ instanceId, access: 'read-write' }),
      readOnlyToken: await authority.issueToken({ instanceId, access: 'read-only' }),
      currentSigningKey: instance.currentSigningKey,
      nextSigningKey: instance.nextSigningKey,
      ...(await makeUser()),
    };
    await keepCredentials(dataDir, credentials);
    return credentials;
  }

  const kept = await readCredentials(dataDir);
  const known = kept && (await accounts.findInstance({ instanceId: kept.instanceId }));
  const setAside = kept && !known ? await setCredentialsAside(dataDir, kept) : null;
  if (kept && known) {
    const { instanceId, currentSigningKey, nextSigningKey } = known;
    const valid = (token: string) => authority.isValid(token, instanceId);
    const token = (await valid(kept.token)) ? kept.token : await authority.issueToken({ instanceId, access: 'read-write' });
    const readOnlyToken = (await valid(kept.readOnlyToken))
      ? kept.readOnlyToken
      : await authority.issueToken({ instanceId, access: 'read-only' });
    const credentials = { ...kept, currentSigningKey, nextSigningKey, token, readOnlyToken };
    await keepCredentials(dataDir, credentials);
    const same = token === kept.token && readOnlyToken === kept.readOnlyToken;
    return { credentials, kind: same ? 'known' : 'reissued', setAside };
  }
  const [oldest] = [...(await accounts.listInstances())].sort((a, b) => a.createdAt - b.createdAt);
  if (oldest) return { credentials: await issue(oldest), kind: 'reissued', setAside };
  return { credentials: await issue(await makeInstance()), kind: 'first', setAside };
}
