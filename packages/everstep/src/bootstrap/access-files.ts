/**
 * The credentials file and the env file. They are written when the server is listening, and again when this or another process
 * rotates the signing keys. An app that is started from them after two rotations therefore has valid keys.
 */
import type { SigningKeys } from '../accounts/instances/instance-signatures.js';
import type { Authority } from '../accounts/tokens/authority.js';
import type { Log } from '../ports/log.js';
import { storeCredentials } from './credentials.js';
import { type ServiceAccess, writeEnvFile } from './env-file.js';
import { fileError } from './start-error.js';

export interface AccessFilesOptions {
  readonly dataDir: string;
  /** Path of the env file; null when none is configured. */
  readonly envFile: string | null;
  readonly authority: Authority;
  readonly log: Log;
}

export class AccessFiles {
  private readonly options: AccessFilesOptions;
  /** Access to Everstep; null until the server is listening. */
  private access: ServiceAccess | null = null;
  /** Keys that the files contain. */
  private written: SigningKeys | null = null;
  private lastWrite: Promise<void> = Promise.resolve();

  constructor(options: AccessFilesOptions) {
    this.options = options;
  }

  /** Writes the files. Rejects with StartError when a file cannot be written. */
  async write(access: ServiceAccess): Promise<void> {
    this.access = access;
    await this.writeFiles(access);
  }

  /** Returns the authority, whose rotations resolve after the files contain the new keys. */
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
   * Called when another process may have rotated the signing keys of the instance (null: of any instance), after the authority
   * has read them. Never rejects.
   */
  async changedElsewhere(instanceId: string | null): Promise<void> {
    const { access } = this;
    if (!access || (instanceId !== null && instanceId !== access.instanceId)) return;
    // The instance was deleted.
    if (this.options.authority.regionOf(access.instanceId) === null) return;
    const { current, next } = this.options.authority.signingKeys(access.instanceId);
    if (current === this.written?.current && next === this.written.next) return;
    await this.writeRotated(access.instanceId);
  }

  /** Writes one rotation after the other, so that the latest keys remain. */
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
  private async writeFiles(serviceAccess: ServiceAccess): Promise<void> {
    const { dataDir, envFile, authority } = this.options;
    const { current, next } = authority.signingKeys(serviceAccess.instanceId);
    const access = { ...serviceAccess, currentSigningKey: current, nextSigningKey: next };
    await storeCredentials(dataDir, access);
    if (envFile !== null) {
      await writeEnvFile(envFile, access).catch((error) => {
        throw fileError(`The env file ${envFile} is not writable`, error);
      });
    }
    this.written = { current, next };
  }
}
