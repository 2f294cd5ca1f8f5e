/**
 * An account store that encrypts secrets. All sealing and opening happens here, for every kind of store.
 * Keeps invariant 34.
 */
import type { AccountStore, InstanceKeys, QueueInstance, SigningKeyPairs } from '../ports/stores/account-store.js';
import { isSealed, type Sealer } from './sealed-values.js';

const secretName = (name: string): string => `secret/${name}`;
/**
 * Returns the name under which signing keys are sealed. The current and the next key share it, because a rotation makes the
 * next key the current one.
 */
const signingKeyName = (instanceId: string): string => `queue_instance/${instanceId}/signing-key`;
const keyPairName = (instanceId: string): string => `queue_instance/${instanceId}/key-pair`;

const mapPairs = ({ current, next }: SigningKeyPairs, map: (key: string) => string): SigningKeyPairs => ({
  current: map(current),
  next: map(next),
});

/** Returns the secrets of an instance, each mapped with `map`. */
function mapSecrets<Secrets extends InstanceKeys>(
  instanceId: string,
  secrets: Secrets,
  map: (name: string, value: string) => string,
): Secrets {
  const { currentSigningKey, nextSigningKey, keyPairs } = secrets;
  const name = signingKeyName(instanceId);
  return {
    ...secrets,
    currentSigningKey: map(name, currentSigningKey),
    nextSigningKey: map(name, nextSigningKey),
    ...(keyPairs ? { keyPairs: mapPairs(keyPairs, (key) => map(keyPairName(instanceId), key)) } : {}),
  };
}

const valuesOf = ({ currentSigningKey, nextSigningKey, keyPairs }: InstanceKeys): readonly string[] => [
  currentSigningKey,
  nextSigningKey,
  ...(keyPairs ? [keyPairs.current, keyPairs.next] : []),
];

/**
 * Returns an account store that seals everything that is written and opens everything that is read. Methods reject with
 * SecretsError.
 */
export function sealAccounts(accounts: AccountStore, { seal, open }: Sealer): AccountStore {
  const openSecret = (name: string, value: string): string => open(secretName(name), value);
  const openInstance = (instance: QueueInstance): QueueInstance => mapSecrets(instance.instanceId, instance, open);
  const openOrNull = (instance: QueueInstance | null) => instance && openInstance(instance);
  return {
    ...accounts,
    findOrCreateSecret: async ({ name, value }) => {
      return openSecret(name, await accounts.findOrCreateSecret({ name, value: seal(secretName(name), value) }));
    },
    async findSecret({ name }) {
      const storedValue = await accounts.findSecret({ name });
      return storedValue === null ? null : openSecret(name, storedValue);
    },
    listSecrets: async () => (await accounts.listSecrets()).map(({ name, value }) => ({ name, value: openSecret(name, value) })),
    async replaceSecret({ name, from, to }) {
      // Sealing is not deterministic, so the plain values are compared.
      const storedValue = await accounts.findSecret({ name });
      if (storedValue === null || openSecret(name, storedValue) !== from) return false;
      return accounts.replaceSecret({ name, from: storedValue, to: seal(secretName(name), to) });
    },
    createInstance: (instance, audit, tokens) =>
      accounts.createInstance(mapSecrets(instance.instanceId, instance, seal), audit, tokens),
    findInstance: async (query) => openOrNull(await accounts.findInstance(query)),
    listInstances: async () => (await accounts.listInstances()).map(openInstance),
    async changeInstance({ instanceId, change, ...rest }) {
      const { keyPairs } = change;
      const sealedPairs = keyPairs && mapPairs(keyPairs, (key) => seal(keyPairName(instanceId), key));
      const sealedChange = sealedPairs ? { ...change, keyPairs: sealedPairs } : change;
      return openOrNull(await accounts.changeInstance({ instanceId, change: sealedChange, ...rest }));
    },
    setSigningKeys({ instanceId, current, next, ...rest }) {
      const name = signingKeyName(instanceId);
      return accounts.setSigningKeys({ instanceId, current: seal(name, current), next: seal(name, next), ...rest });
    },
  };
}

export interface StoredSecrets {
  /** Whether the store contains no secret. A new store contains none. */
  readonly isEmpty: boolean;
  readonly isSealed: boolean;
}

/** Returns whether stored secrets are encrypted. `accounts` is the unwrapped store. */
export async function inspectSecrets(accounts: AccountStore): Promise<StoredSecrets> {
  const secrets = (await accounts.listSecrets()).map(({ value }) => value);
  const values = [...secrets, ...(await accounts.listInstances()).flatMap(valuesOf)];
  return { isEmpty: values.length === 0, isSealed: values.some(isSealed) };
}

/**
 * Encrypts every value that is not sealed under the current key, which also verifies the keys. A value is replaced
 * only if it is unchanged, so the work can be interrupted at any point and run on several active nodes. Returns the
 * number of rows written. `accounts` is the unwrapped store. Rejects with SecretsError.
 */
export async function sealStored(accounts: AccountStore, { seal, open, isCurrent }: Sealer): Promise<number> {
  const reseal = (name: string, value: string): string => {
    const plain = open(name, value);
    return isCurrent(value) ? value : seal(name, plain);
  };
  let rowsWritten = 0;
  // A value changed by another process is read again. That process uses its own current key.
  for (const { name } of await accounts.listSecrets()) {
    for (;;) {
      const value = await accounts.findSecret({ name });
      if (value === null) break;
      const to = reseal(secretName(name), value);
      if (to === value) break;
      if (!(await accounts.replaceSecret({ name, from: value, to }))) continue;
      rowsWritten++;
      break;
    }
  }
  for (const listedInstance of await accounts.listInstances()) {
    const { instanceId } = listedInstance;
    for (let instance: QueueInstance | null = listedInstance; instance; instance = await accounts.findInstance({ instanceId })) {
      const from: InstanceKeys = instance;
      const to = mapSecrets(instanceId, from, reseal);
      if (valuesOf(to).every((value, index) => value === valuesOf(from)[index])) break;
      if (!(await accounts.replaceInstanceKeys({ instanceId, from, to }))) continue;
      rowsWritten++;
      break;
    }
  }
  return rowsWritten;
}
