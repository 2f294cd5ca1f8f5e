/**
 * The files that say how to use the running service: written when it listens,
 * and again when the signing keys are rotated, here or by another process, so that an app which starts
 * from them after two rotations has keys that are still good.
 */
import type { Authority, SigningKeys } from '../accounts/authority.js';
import type { Log } from '../ports/log.js';
import { keepCredentials } from './credentials.js';
import { type ServiceAccess, writeEnvFile } from './env-file.js';
import { fileError } from './start-error.js';

export interface KeptAccessOptions {
  readonly dataDir: string;
  /** Null when none was asked for. */
  readonly envFile: string | null;
  readonly authority: Authority;
  readonly log: Log;
}

export class KeptAccess {
  private readonly options: KeptAccessOptions;
  /** Null until the service listens. */
  private access: ServiceAccess | null = null;
  /** The keys that are in the files. */
  private written: SigningKeys | null = null;
  private last: Promise<void> = Promise.resolve();

  constructor(options: KeptAccessOptions) {
    this.options = options;
  }

  /** Rejects with StartError when a file cannot be written. */
  async write(access: ServiceAccess): Promise<void> {
    this.access = access;
    await this.writeFiles(access);
  }

  /** The authority, whose rotated keys are in the files when it answers. */
  get authority(): Authority {
    const { authority } = this.options;
    return {
      ...authority,
      rotateSigningKeys: async (instanceId, by) => {
        const keys = await authority.rotateSigningKeys(instanceId, by);
        await this.rotated(instanceId);
        return keys;
      },
    };
  }

  /**
   * Another process may have rotated the signing keys of the instance (null: of any), and the authority knows by now. Never
   * rejects.
   */
  async changedElsewhere(instanceId: string | null): Promise<void> {
    const { access } = this;
    if (!access || (instanceId !== null && instanceId !== access.instanceId)) return;
    // It was deleted.
    if (this.options.authority.regionOf(access.instanceId) === null) return;
    const { current, next } = this.options.authority.signingKeys(access.instanceId);
    if (current === this.written?.current && next === this.written.next) return;
    await this.rotated(access.instanceId);
  }

  /** One after the other: of two rotations the later one is what stays. */
  private rotated(instanceId: string): Promise<void> {
    const { log } = this.options;
    this.last = this.last.then(async () => {
      const { access } = this;
      if (access?.instanceId !== instanceId) return;
      try {
        await this.writeFiles(access);
      } catch (error) {
        // The keys are rotated all the same, and whoever did it has them.
        log.error({ error: String(error) }, 'could not write rotated signing keys to the credential files');
      }
    });
    return this.last;
  }

  /** With the keys as they are now. */
  private async writeFiles(known: ServiceAccess): Promise<void> {
    const { dataDir, envFile, authority } = this.options;
    const { current, next } = authority.signingKeys(known.instanceId);
    const access = { ...known, currentSigningKey: current, nextSigningKey: next };
    await keepCredentials(dataDir, access);
    if (envFile !== null) {
      await writeEnvFile(envFile, access).catch((error) => {
        throw fileError(`The env file ${envFile} cannot be written`, error);
      });
    }
    this.written = { current, next };
  }
}
