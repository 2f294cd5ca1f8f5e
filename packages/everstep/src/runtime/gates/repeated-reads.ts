/**
 * Reads of the stored state of one instance that are repeated until they succeed. Reads of the same part that have failed continue
 * as one.
 */
import type { GateDeps } from './gate-deps.js';

/** A key, a queue, or the settings of the instance with its holds. */
type StoredPart = { readonly flowControlKey: string } | { readonly queue: string } | { readonly settings: true };

/** `load` is the first read of a part, `reload` a later one, and `reset` one that also ends the rate window of a key. */
type ReadKind = 'load' | 'reload' | 'reset';

export class RepeatedReads {
  private readonly instanceId: string;
  private readonly deps: Pick<GateDeps, 'control' | 'log'>;
  private readonly isNeeded: () => boolean;
  /** The ends of the reads that have failed and wait to be repeated, by kind and part. */
  private readonly waiting = new Map<string, Promise<void>>();

  /** No read is repeated when `isNeeded` returns false. */
  constructor(instanceId: string, deps: Pick<GateDeps, 'control' | 'log'>, isNeeded: () => boolean) {
    this.instanceId = instanceId;
    this.deps = deps;
    this.isNeeded = isNeeded;
  }

  /**
   * Reads the part as it is from now on, and repeats this a second after each failure. Resolves when a read has succeeded or is no
   * longer needed, and never if the gates stop first. Never rejects.
   */
  async repeat(kind: ReadKind, part: StoredPart, read: () => Promise<void>): Promise<void> {
    const { waiting } = this;
    const id = `${kind} ${JSON.stringify(part)}`;
    let resolveEnded: () => void = () => {};
    const ended = new Promise<void>((resolve) => {
      resolveEnded = resolve;
    });
    const readOrJoin = async (): Promise<void> => {
      // This read may be older than changes that are made from now on.
      if (waiting.get(id) === ended) waiting.delete(id);
      try {
        await read();
      } catch (error) {
        const other = waiting.get(id);
        if (other) return other;
        waiting.set(id, ended);
        throw error;
      }
    };
    await this.deps.control.repeat(this.isNeeded, readOrJoin, (error) => this.logFailure(part, error));
    resolveEnded();
  }

  private logFailure(part: StoredPart, error: unknown): void {
    const { log } = this.deps;
    const fields = { instanceId: this.instanceId, error: String(error) };
    if ('queue' in part) log.warn({ ...part, ...fields }, 'could not read a queue, retrying in 1 s');
    else if ('settings' in part) log.warn(fields, 'could not read the settings of a queue instance, retrying in 1 s');
    else log.warn({ ...part, ...fields }, 'could not read a flow control key, retrying in 1 s');
  }
}
