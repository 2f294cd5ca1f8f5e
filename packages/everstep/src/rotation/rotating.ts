/** Replaces the keys of the installation, and encrypts all secrets under the current key. */
import type { RotateRequest, RotateResult } from '../backup/control-channel.js';
import type { Store } from '../ports/stores/store.js';
import { endDerivedTokens } from '../search/search-tokens.js';
import { KEY_RINGS, parseRing, rotateRing } from '../secrets/key-ring.js';
import { sealAccounts, sealStored } from '../secrets/sealed-accounts.js';
import type { Sealer } from '../secrets/sealed-values.js';

export interface RotationOptions extends RotateRequest {
  /** The open store, without a wrapper that decrypts its secrets. */
  readonly store: Pick<Store, 'accounts' | 'searchIndexes'>;
  readonly sealer: Sealer;
  /** Current time, Unix ms. */
  readonly now: number;
}

/**
 * Rotates the secrets. This is safe on a store in use: a value is replaced only if it is unchanged, and servers read the
 * keys again every few seconds. If the rotation is interrupted, run it again. Rejects with SecretsError.
 */
export async function rotateSecrets(options: RotationOptions): Promise<RotateResult> {
  const { store, sealer, now, endTokens, onlyEncrypt } = options;
  const encrypted = await sealStored(store.accounts, sealer);
  if (onlyEncrypt) return { replaced: [], encrypted };
  const accounts = sealAccounts(store.accounts, sealer);
  const replaced: string[] = [];
  for (const { name, maxKeys } of Object.values(KEY_RINGS)) {
    for (let from = await accounts.findSecret({ name }); from !== null; from = await accounts.findSecret({ name })) {
      const dropsEarlierKeys = endTokens && name === KEY_RINGS.tokens.name;
      const to = JSON.stringify(rotateRing(parseRing(from), { now, maxKeys, dropsEarlierKeys }));
      if (!(await accounts.replaceSecret({ name, from, to }))) continue;
      replaced.push(name);
      break;
    }
  }
  await endDerivedTokens(accounts, store.searchIndexes);
  return { replaced, encrypted };
}
