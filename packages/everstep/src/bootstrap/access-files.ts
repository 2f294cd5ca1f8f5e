/**
 * The credentials file and the env file. They are written when the server is listening, and again when this or another process
 * rotates the signing keys. An app that is started with these files after two rotations therefore has valid keys.
 */
import type { SigningKeys } from '../accounts/instances/instance-signatures.js';
import type { Authority } from '../accounts/tokens/authority.js';
import type { Log } from '../ports/log.js';
import { storeCredentials } from './credentials.js';
import { type ServerAccess, writeEnvFile } from './env-file.js';
import { fileError } from './start-error.js';

export interface AccessFilesOptions {
  readonly dataDir: string;
  /** Path of the env file; null if none is configured. */
  readonly envFile: string | null;
  readonly authority: Authority;
  readonly log: Log;
}

export class AccessFiles {
  private readonly options: AccessFilesOptions;
  /** Access to Everstep; null until the server is listening. */
  private access: ServerAccess | null = null;
  /** Signing keys in the files; null until they are written. */
  private writtenKeys: SigningKeys | null = null;
  private lastWrite: Promise<void> = Promise.resolve();

  constructor(options: AccessFilesOptions) {
    this.options = options;
  }

  /** Writes the files. Rejects with StartError if a file cannot be written. */
  async write(access: ServerAccess): Promise<void> {
    this.access = access;
    await this.writeFiles(access);
  }

  /** Returns the authority with a rotation that resolves after the files contain the new keys. */
  get authority(): Authority {
    const { authority } = this.options;
    return {
      ...authority,
      rotateSigningKeys: async (instanceId, by) => {
        const keys = await authority.rotateSigningKeys(instanceId, by);
        await this.writeRotated(instanceId);
        return keys;
      },
    };
  }

  /**
   * Updates the files after another process may have rotated the signing keys of the instance, or of any instance if
   * `instanceId` is null. The authority must have read the new keys. Never rejects.
   */
  async refresh(instanceId: string | null): Promise<void> {
    const { access } = this;
    if (!access || (instanceId !== null && instanceId !== access.instanceId)) return;
    // A deleted instance has no keys.
    if (this.options.authority.regionOf(access.instanceId) === null) return;
    const { current, next } = this.options.authority.signingKeys(access.instanceId);
    if (current === this.writtenKeys?.current && next === this.writtenKeys.next) return;
    await this.writeRotated(access.instanceId);
  }

  /** Writes rotated keys. Writes are serialized, so that the files contain the latest keys. */
  private writeRotated(instanceId: string): Promise<void> {
    const { log } = this.options;
    this.lastWrite = this.lastWrite.then(async () => {
      const { access } = this;
      if (access?.instanceId !== instanceId) return;
      try {
        await this.writeFiles(access);
      } catch (error) {
        // The rotation itself succeeded, and its caller has the keys.
        log.error({ error: String(error) }, 'could not write rotated signing keys to the credential files');
      }
    });
    return this.lastWrite;
  }

  /** Writes the files with the current keys. */
  private async writeFiles(serverAccess: ServerAccess): Promise<void> {
    const { dataDir, envFile, authority } = this.options;
    const { current, next } = authority.signingKeys(serverAccess.instanceId);
    const access = { ...serverAccess, currentSigningKey: current, nextSigningKey: next };
    await storeCredentials(dataDir, access);
    if (envFile !== null) {
      await writeEnvFile(envFile, access).catch((error) => {
        throw fileError(`The env file ${envFile} is not writable`, error);
      });
    }
    this.writtenKeys = { current, next };
  }
}
