/** Signature settings of queue instances: origins and key pairs. */
import { LIMITS } from '../../config/limits.js';
import type { AccountStore, AuditEntry, InstanceChange, QueueInstance } from '../../ports/stores/account-store.js';
import { newKeyPairs, type PublicKey, publicKeyOf, rotateKeyPairs } from './key-pairs.js';
import { messageKeyOf } from './message-keys.js';
import { isSignedOrigin } from './signed-origins.js';

export interface SigningKeys {
  readonly current: string;
  readonly next: string;
}

/** The user who makes a change, and the user's address, for the audit log. */
export interface ChangeAuthor {
  readonly actor: string;
  readonly address: string;
}

/** An action in an instance, and its author, for the audit log. */
export type AuditedAction = ChangeAuthor & Pick<AuditEntry, 'action' | 'subject' | 'details'>;

/** The current private key of an instance, with its id. */
export interface PrivateKey {
  readonly kid: string;
  /** The key in PKCS #8 format, base64url. */
  readonly privateKey: string;
}

export interface SignatureSettings {
  /** Keys that sign plain messages to all other origins. */
  readonly messageKeys: SigningKeys;
  /** Origins that the owner has configured, or null if there are none. Plain messages to them are signed with the signing keys. */
  readonly origins: readonly string[] | null;
  /** Origins of the instance's workflows. Plain messages to them are also signed with the signing keys. */
  readonly workflowOrigins: readonly string[];
  /** Null if there are no Ed25519 signatures. */
  readonly publicKeys: { readonly current: PublicKey; readonly next: PublicKey } | null;
}

/** A change of the signature settings. Absent fields stay unchanged. */
export interface SignatureSettingsChange {
  readonly origins?: readonly string[] | null;
  readonly ed25519?: boolean;
}

export interface InstanceSignatures {
  /** Returns the cached private key; null if there is none. Throws if the instance is unknown. */
  privateKey(instanceId: string): PrivateKey | null;
  /** Returns the key for plain messages to this origin; null means the signing key. Throws if the instance is unknown. */
  messageKeyFor(instanceId: string, origin: string): string | null;
  /** Records that steps are sent to this origin. Returns null if it is already recorded, else resolves when it is durable. */
  recordWorkflowOrigin(instanceId: string, origin: string): Promise<void> | null;
  /** Returns null if the instance does not exist. */
  signatureSettings(instanceId: string): Promise<SignatureSettings | null>;
  /** Changes the settings and records `author` in the audit log. Rejects if the instance does not exist. */
  changeSignatureSettings(instanceId: string, change: SignatureSettingsChange, author: ChangeAuthor): Promise<SignatureSettings>;
  /** Makes the next key pair the current one and creates a new next pair. Returns null if the instance has none. */
  rotateKeyPairs(instanceId: string, author: ChangeAuthor): Promise<SignatureSettings | null>;
}

export interface InstanceSignaturesOptions {
  readonly accounts: Pick<AccountStore, 'addWorkflowOrigin' | 'changeInstance'>;
  /** Returns the cached instance. Throws if it is unknown. */
  readonly recall: (instanceId: string) => QueueInstance;
  /** Returns the instance, cached or from the store; null if there is none. */
  readonly find: (instanceId: string) => Promise<QueueInstance | null>;
  /** Reads the instance from the store into the cache. */
  readonly read: (instanceId: string) => Promise<QueueInstance | null>;
  readonly auditOf: (instanceId: string, action: AuditedAction) => Promise<AuditEntry>;
  /** Runs the work after earlier changes of keys of the instance, in any process, then notifies the other processes. */
  readonly withLock: <Result>(instanceId: string, work: () => Promise<Result>) => Promise<Result>;
  /** Notifies the other processes. */
  readonly notifyChanged: (instanceId: string) => void;
}

const settingsOf = (instance: QueueInstance): SignatureSettings => {
  const { currentSigningKey, nextSigningKey, signedOrigins, workflowOrigins, keyPairs } = instance;
  return {
    messageKeys: { current: messageKeyOf(currentSigningKey), next: messageKeyOf(nextSigningKey) },
    origins: signedOrigins ?? null,
    workflowOrigins: workflowOrigins ?? [],
    publicKeys: keyPairs ? { current: publicKeyOf(keyPairs.current), next: publicKeyOf(keyPairs.next) } : null,
  };
};

export function createInstanceSignatures(options: InstanceSignaturesOptions): InstanceSignatures {
  const { accounts, recall, find, read, auditOf, withLock } = options;
  /** Writes of origins in progress. */
  const writesInProgress = new Map<string, Promise<void>>();

  async function addWorkflowOrigin(instanceId: string, origin: string): Promise<void> {
    await accounts.addWorkflowOrigin({ instanceId, origin, limit: LIMITS.maxWorkflowOrigins });
    // Read after the write, so that the result contains this change and all concurrent changes before it.
    await read(instanceId);
    options.notifyChanged(instanceId);
  }

  async function change(instanceId: string, action: AuditedAction, instanceChange: InstanceChange): Promise<SignatureSettings> {
    const audit = await auditOf(instanceId, action);
    await accounts.changeInstance({ instanceId, change: instanceChange, audit });
    const instance = await read(instanceId);
    if (!instance) throw new Error(`queue instance ${instanceId} does not exist`);
    return settingsOf(instance);
  }

  return {
    privateKey(instanceId) {
      const privateKey = recall(instanceId).keyPairs?.current;
      return privateKey === undefined ? null : { kid: publicKeyOf(privateKey).kid, privateKey };
    },
    messageKeyFor(instanceId, origin) {
      const instance = recall(instanceId);
      return isSignedOrigin(instance, origin) ? null : messageKeyOf(instance.currentSigningKey);
    },
    recordWorkflowOrigin(instanceId, origin) {
      const { workflowOrigins = [] } = recall(instanceId);
      if (workflowOrigins.includes(origin) || workflowOrigins.length >= LIMITS.maxWorkflowOrigins) return null;
      const key = `${instanceId} ${origin}`;
      const writeInProgress = writesInProgress.get(key);
      if (writeInProgress) return writeInProgress;
      const write = addWorkflowOrigin(instanceId, origin).finally(() => writesInProgress.delete(key));
      writesInProgress.set(key, write);
      return write;
    },
    async signatureSettings(instanceId) {
      const instance = await find(instanceId);
      return instance && settingsOf(instance);
    },
    changeSignatureSettings: (instanceId, { origins, ed25519 }, author) =>
      withLock(instanceId, async () => {
        const keyPairs = (await read(instanceId))?.keyPairs ?? newKeyPairs();
        const details = {
          ...(origins === undefined ? {} : { origins: origins === null ? null : origins.join(' ') }),
          ...(ed25519 === undefined ? {} : { ed25519 }),
        };
        const action = { action: 'queue.change-signatures', subject: instanceId, details };
        return change(
          instanceId,
          { ...author, ...action },
          {
            ...(origins === undefined ? {} : { signedOrigins: origins }),
            ...(ed25519 === undefined ? {} : { keyPairs: ed25519 ? keyPairs : null }),
          },
        );
      }),
    rotateKeyPairs: (instanceId, author) =>
      withLock(instanceId, async () => {
        const keyPairs = (await read(instanceId))?.keyPairs;
        if (!keyPairs) return null;
        const action = { action: 'queue.rotate-key-pairs', subject: instanceId, details: {} };
        return change(instanceId, { ...author, ...action }, { keyPairs: rotateKeyPairs(keyPairs) });
      }),
  };
}
