/**
 * The files that say how to use the running service: written when it listens,
 * and again when the signing keys are rotated, so that an app which starts
 * from them after two rotations has keys that are still good.
 */
import type { Authority } from '../accounts/authority.js';
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
        log.error({ error: String(error) }, 'the rotated signing keys could not be written into the files that tell them');
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
    if (envFile === null) return;
    await writeEnvFile(envFile, access).catch((error) => {
      throw fileError(`The env file ${envFile} cannot be written`, error);
    });
  }
}
