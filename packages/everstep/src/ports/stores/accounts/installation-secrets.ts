/** Secrets of the whole installation: keys of tokens and of cursors. */

export interface InstallationSecret {
  readonly name: string;
  readonly value: string;
}

export interface InstallationSecretStore {
  /** Returns the secret with this name. If it does not exist, creates it with `value`. */
  findOrCreateSecret(query: { readonly name: string; readonly value: string }): Promise<string>;
  /** Returns the secret with this name; null if it does not exist. */
  findSecret(query: { readonly name: string }): Promise<string | null>;
  /** Lists all secrets, ordered by name. */
  listSecrets(): Promise<readonly InstallationSecret[]>;
  /** Replaces the value if it equals `from`. Returns false without a change if it does not. */
  replaceSecret(query: { readonly name: string; readonly from: string; readonly to: string }): Promise<boolean>;
  /** Deletes the secret if it exists. */
  deleteSecret(query: { readonly name: string }): Promise<void>;
}
