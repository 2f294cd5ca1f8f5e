/** Accounts whose secrets are encrypted in the store: the one place where they are sealed and opened, whichever store it is. */
import type { AccountStore, InstanceKeys, QueueInstance, SigningKeyPairs } from '../ports/account-store.js';
import { isSealed, type Sealer } from './sealed-values.js';

const secretName = (name: string): string => `secret/${name}`;
/** The same for the current and the next key: a rotation makes one of the other. */
const signingKeyName = (instanceId: string): string => `queue_instance/${instanceId}/signing-key`;
const keyPairName = (instanceId: string): string => `queue_instance/${instanceId}/key-pair`;

const mapPairs = ({ current, next }: SigningKeyPairs, of: (key: string) => string): SigningKeyPairs => ({
  current: of(current),
  next: of(next),
});

/** The secrets of an instance, each as `of` makes it. */
function mapSecrets<Secrets extends InstanceKeys>(
  instanceId: string,
  secrets: Secrets,
  of: (name: string, value: string) => string,
): Secrets {
  const { currentSigningKey, nextSigningKey, keyPairs } = secrets;
  const name = signingKeyName(instanceId);
  return {
    ...secrets,
    currentSigningKey: of(name, currentSigningKey),
    nextSigningKey: of(name, nextSigningKey),
    ...(keyPairs ? { keyPairs: mapPairs(keyPairs, (key) => of(keyPairName(instanceId), key)) } : {}),
  };
}

const valuesOf = ({ currentSigningKey, nextSigningKey, keyPairs }: InstanceKeys): readonly string[] => [
  currentSigningKey,
  nextSigningKey,
  ...(keyPairs ? [keyPairs.current, keyPairs.next] : []),
];

/** Everything that is written through it is sealed, and everything that is read opened. Methods reject with SecretsError. */
export function sealAccounts(accounts: AccountStore, { seal, open }: Sealer): AccountStore {
  const openSecret = (name: string, value: string): string => open(secretName(name), value);
  const openInstance = (instance: QueueInstance): QueueInstance => mapSecrets(instance.instanceId, instance, open);
  const openOrNull = (instance: QueueInstance | null) => instance && openInstance(instance);
  return {
    ...accounts,
    secret: async ({ name, value }) => {
      return openSecret(name, await accounts.secret({ name, value: seal(secretName(name), value) }));
    },
    async findSecret({ name }) {
      const found = await accounts.findSecret({ name });
      return found === null ? null : openSecret(name, found);
    },
    listSecrets: async () => (await accounts.listSecrets()).map(({ name, value }) => ({ name, value: openSecret(name, value) })),
    async replaceSecret({ name, from, to }) {
      // Sealed twice a value is two texts, so what is compared is what it says.
      const stored = await accounts.findSecret({ name });
      if (stored === null || openSecret(name, stored) !== from) return false;
      return accounts.replaceSecret({ name, from: stored, to: seal(secretName(name), to) });
    },
    createInstance: (instance, audit, tokens) =>
      accounts.createInstance(mapSecrets(instance.instanceId, instance, seal), audit, tokens),
    findInstance: async (query) => openOrNull(await accounts.findInstance(query)),
    listInstances: async () => (await accounts.listInstances()).map(openInstance),
    async changeInstance({ instanceId, change, ...rest }) {
      const { keyPairs } = change;
      const sealed = keyPairs && mapPairs(keyPairs, (key) => seal(keyPairName(instanceId), key));
      const wanted = sealed ? { ...change, keyPairs: sealed } : change;
      return openOrNull(await accounts.changeInstance({ instanceId, change: wanted, ...rest }));
    },
    setSigningKeys({ instanceId, current, next, ...rest }) {
      const name = signingKeyName(instanceId);
      return accounts.setSigningKeys({ instanceId, current: seal(name, current), next: seal(name, next), ...rest });
    },
  };
}

export interface StoredSecrets {
  /** Whether there is a secret at all: a store that was never used has none. */
  readonly isEmpty: boolean;
  readonly isSealed: boolean;
}

/** What of the secrets is encrypted. `accounts` as the store has them. */
export async function inspectSecrets(accounts: AccountStore): Promise<StoredSecrets> {
  const secrets = (await accounts.listSecrets()).map(({ value }) => value);
  const values = [...secrets, ...(await accounts.listInstances()).flatMap(valuesOf)];
  return { isEmpty: values.length === 0, isSealed: values.some(isSealed) };
}

/**
 * Encrypts everything under the current key that is not, and so shows that the keys are the right ones. Each value is replaced
 * only if it is what was read: so it may be cut off at any point, and run on several nodes that work. Returns how many rows
 * were written. `accounts` as the store has them. Rejects with SecretsError.
 */
export async function sealStored(accounts: AccountStore, { seal, open, isCurrent }: Sealer): Promise<number> {
  const reseal = (name: string, value: string): string => {
    const plain = open(name, value);
    return isCurrent(value) ? value : seal(name, plain);
  };
  let written = 0;
  // What another one changes meanwhile is read again; it writes under its own current key.
  for (const { name } of await accounts.listSecrets()) {
    for (;;) {
      const value = await accounts.findSecret({ name });
      if (value === null) break;
      const to = reseal(secretName(name), value);
      if (to === value) break;
      if (!(await accounts.replaceSecret({ name, from: value, to }))) continue;
      written++;
      break;
    }
  }
  for (const listed of await accounts.listInstances()) {
    const { instanceId } = listed;
    for (let instance: QueueInstance | null = listed; instance; instance = await accounts.findInstance({ instanceId })) {
      const from: InstanceKeys = instance;
      const to = mapSecrets(instanceId, from, reseal);
      if (valuesOf(to).every((value, index) => value === valuesOf(from)[index])) break;
      if (!(await accounts.replaceInstanceKeys({ instanceId, from, to }))) continue;
      written++;
      break;
    }
  }
  return written;
}
