/** Secrets that belong to the whole installation: keys of tokens, of cursors. */

/** A secret of the installation. */
export interface InstallationSecret {
  readonly name: string;
  readonly value: string;
}

export interface InstallationSecretStore {
  /** A secret of the installation by name, created with `value` if it does not exist; returns what is kept. */
  secret(query: { readonly name: string; readonly value: string }): Promise<string>;
  /** Null when there is none of that name. */
  findSecret(query: { readonly name: string }): Promise<string | null>;
  /** By name. */
  listSecrets(): Promise<readonly InstallationSecret[]>;
  /** Replaces the value if it is `from`. False: it is not, and nothing was changed. */
  replaceSecret(query: { readonly name: string; readonly from: string; readonly to: string }): Promise<boolean>;
  /** Deletes the secret, if there is one of that name. */
  deleteSecret(query: { readonly name: string }): Promise<void>;
}
