/**
 * Tracks whether the store accepts writes. After the first commit that fails because the store is unavailable, no delivery starts.
 * Its result could not be recorded, so it would be repeated. Results of deliveries that are already in flight are kept in
 * memory. Probe writes with increasing delays detect when the store accepts writes again. The kept results are recorded before
 * deliveries start again.
 *
 * If only one of several servers is unavailable, the same applies to its queue instances. The store detects when that server is
 * back. Keeps invariant 3.
 */
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { MessageSender } from '../../ports/message-sender.js';
import type { Random } from '../../ports/random.js';
import type { StepCaller } from '../../ports/step-caller.js';
import type { Store } from '../../ports/stores/store.js';
import { ServerUnavailableError, StoreRefusesWritesError, StoreUnavailableError } from '../../ports/stores/store-unavailable.js';
import type { StoreWritesState } from '../../ports/stores/store-writes.js';

const FIRST_PROBE_MS = 100;
/** Maximum delay between probes. It is small, so that work continues soon after the store has recovered. */
const MAX_PROBE_DELAY_MS = 2_000;
/** A store that fails again within this time continues with the longer delays. */
const STEADY_AFTER_MS = 10_000;
/** Maximum total size of kept results. Deliveries with results beyond it are repeated. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;
/** A result that the store has rejected this often, although it accepts probes, is dropped, because it would block all others. */
const MAX_ATTEMPTS = 5;

export interface StoreWritesOptions {
  readonly store: Pick<Store, 'probeWrites' | 'servers'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A result that could not be recorded yet. */
interface KeptResult {
  readonly bytes: number;
  /** The server that was unavailable; null if the whole store was. */
  readonly server: string | null;
  readonly tryAgain: () => Promise<void>;
  readonly giveUp: () => void;
}

export class StoreWrites implements StoreWritesState {
  private readonly options: StoreWritesOptions;
  private readonly listeners = new Set<() => void>();
  private readonly keptResults = new Set<KeptResult>();
  private keptBytes = 0;
  private readonly closedServers = new Set<string>();
  private fault: string | null = null;
  private closedAt = 0;
  private openedAt = Number.NEGATIVE_INFINITY;
  private delayMs = FIRST_PROBE_MS;
  private hasFailedInRound = false;
  private cancelProbe: () => void = () => {};
  private isStopped = false;

  constructor(options: StoreWritesOptions) {
    this.options = options;
  }

  get isOpen(): boolean {
    return this.fault === null;
  }

  isOpenFor(instanceId: string): boolean {
    if (!this.isOpen || this.closedServers.size === 0) return this.isOpen;
    const server = this.options.store.servers?.serverOf(instanceId) ?? null;
    return server === null || !this.closedServers.has(server);
  }

  /** Why the store rejects writes, such as `the store rejects writes: disk full`, for operators. Null while it accepts them. */
  get refusal(): string | null {
    return this.fault;
  }

  /** Calls the listener each time the store, or one of its servers, accepts writes again and everything kept for it is recorded. */
  onOpen(listener: () => void): void {
    this.listeners.add(listener);
  }

  reportFailure(error: unknown): boolean {
    if (!(error instanceof StoreUnavailableError)) return false;
    // The store was not called.
    if (error instanceof NotSentError) return true;
    if (error instanceof ServerUnavailableError) {
      this.closeServer(error);
      return true;
    }
    this.hasFailedInRound = true;
    if (this.fault !== null || this.isStopped) return true;
    const { clock, log } = this.options;
    this.fault = faultOf(error);
    this.closedAt = clock.now();
    if (this.closedAt - this.openedAt > STEADY_AFTER_MS) this.delayMs = FIRST_PROBE_MS;
    log.error({ reason: this.fault, error: error.message }, 'store unavailable for writes, deliveries stopped');
    this.probeLater();
    return true;
  }

  /**
   * Resolves with the result of `record`. If the store is unavailable, the result is kept in memory, and `record` is called
   * again once the store accepts writes. It must be safe to repeat. Resolves with null if the result cannot be kept. The size
   * of `result` counts toward the limit of kept results.
   */
  persist<Result>(result: unknown, record: () => Promise<Result>): Promise<Result | null> {
    return new Promise((resolve, reject) => {
      let attempts = 0;
      const giveUp = (): void => resolve(null);
      const tryAgain = async (): Promise<void> => {
        try {
          resolve(await record());
        } catch (error) {
          if (!this.reportFailure(error)) return reject(error);
          attempts++;
          const bytes = bytesIn(result);
          const server = error instanceof ServerUnavailableError ? error.server : null;
          if (attempts <= MAX_ATTEMPTS && this.keep({ bytes, server, tryAgain, giveUp })) return;
          this.options.log.warn(
            { bytes, attempts, error: String(error) },
            'could not keep a result in memory, repeating its delivery',
          );
          giveUp();
        }
      };
      void tryAgain();
    });
  }

  /**
   * Like `persist`, for a request that waits: rejects with StoreUnavailableError if recording takes longer than `waitMs`. The
   * result is still kept.
   */
  async persistWithin<Result>(waitMs: number, result: unknown, record: () => Promise<Result>): Promise<Result> {
    let lastError: unknown = null;
    const recording = this.persist(result, () =>
      record().catch((error) => {
        lastError = error;
        throw error;
      }),
    );
    const { clock } = this.options;
    let cancel = (): void => {};
    const timeout = new Promise<null>((resolve) => {
      cancel = clock.setTimer(clock.now() + waitMs, () => resolve(null));
    });
    const recordedResult = await Promise.race([recording, timeout]).finally(() => cancel());
    if (recordedResult === null) throw lastError ?? new StoreUnavailableError('the store did not respond in time');
    return recordedResult;
  }

  /** Drops the kept results and stops the probes. */
  stop(): void {
    this.isStopped = true;
    this.cancelProbe();
    for (const { giveUp } of this.keptResults) giveUp();
    this.keptResults.clear();
    this.keptBytes = 0;
  }

  private keep(result: KeptResult): boolean {
    if (this.isStopped || this.keptBytes + result.bytes > MAX_KEPT_BYTES) return false;
    this.keptResults.add(result);
    this.keptBytes += result.bytes;
    return true;
  }

  /** Records what is kept for the server, or for the whole store. Resolves with true if nothing remains. */
  private async recordKept(server: string | null): Promise<boolean> {
    const results = [...this.keptResults].filter((result) => result.server === server);
    for (const result of results) {
      this.keptResults.delete(result);
      this.keptBytes -= result.bytes;
    }
    await Promise.all(results.map(({ tryAgain }) => tryAgain()));
    return ![...this.keptResults].some((result) => result.server === server);
  }

  private closeServer({ server, message }: ServerUnavailableError): void {
    if (this.isStopped || this.closedServers.has(server)) return;
    this.closedServers.add(server);
    this.options.log.error({ server, error: message }, 'database server unavailable, deliveries of its queue instances stopped');
    void this.reopenServer(server);
  }

  /** Waits until the server is available, and records what is kept for it. Never rejects. */
  private async reopenServer(server: string): Promise<void> {
    const { store, clock, log } = this.options;
    const closedAt = clock.now();
    do {
      await store.servers?.whenAvailable(server);
      if (this.isStopped) return;
    } while (!(await this.recordKept(server)));
    if (this.isStopped) return;
    this.closedServers.delete(server);
    log.warn(
      { server, unavailableMs: clock.now() - closedAt },
      'database server available again, deliveries of its queue instances resumed',
    );
    for (const listener of this.listeners) listener();
  }

  private probeLater(): void {
    if (this.isStopped) return;
    const { clock, random } = this.options;
    const [byte = 0] = random.bytes(1);
    const delayMs = Math.round(this.delayMs * (0.5 + byte / 512));
    this.delayMs = Math.min(this.delayMs * 2, MAX_PROBE_DELAY_MS);
    this.cancelProbe = clock.setTimer(clock.now() + delayMs, () => void this.probe());
  }

  /** Writes a probe, and the kept results if the probe succeeds. Never rejects. */
  private async probe(): Promise<void> {
    const { store, clock, log } = this.options;
    this.hasFailedInRound = false;
    let isRecorded = false;
    try {
      await store.probeWrites();
      // The order matters: the work that follows from a kept result is delivered, and the delivery that produced it is not
      // repeated.
      isRecorded = await this.recordKept(null);
    } catch (error) {
      this.hasFailedInRound = true;
      if (error instanceof StoreUnavailableError) this.fault = faultOf(error);
    }
    if (this.isStopped) return;
    if (this.hasFailedInRound || !isRecorded) return this.probeLater();
    const reason = this.fault;
    this.fault = null;
    this.openedAt = clock.now();
    log.warn({ reason, unavailableMs: this.openedAt - this.closedAt }, 'store available for writes again, deliveries resumed');
    for (const listener of this.listeners) listener();
  }
}

/** Returns approximately how many bytes the value takes in memory. */
function bytesIn(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value !== 'object' || value === null) return 8;
  return Object.values(value).reduce((sum: number, item) => sum + bytesIn(item), 64);
}

/** Returns why the store is unavailable, for the operator and without addresses: `the store rejects writes: disk full`. */
export const faultOf = (error: StoreUnavailableError): string =>
  error instanceof StoreRefusesWritesError ? error.message : 'the database cannot be reached';

/** The error of a request that is not sent because its result could not be recorded. */
class NotSentError extends StoreUnavailableError {
  constructor() {
    super('nothing is sent while the store rejects writes');
  }
}

/** Returns a caller that sends nothing while the store rejects writes: its calls then reject with StoreUnavailableError. */
export function refuseCallsWhileClosed(caller: StepCaller, writes: StoreWritesState): StepCaller {
  return {
    call: async (...parameters) => {
      if (!writes.isOpenFor(parameters[0].instanceId)) throw new NotSentError();
      return caller.call(...parameters);
    },
    close: () => caller.close(),
  };
}

/** Returns a sender of plain messages, calls and callbacks that also sends nothing while the store rejects writes. */
export function refuseMessagesWhileClosed(sender: MessageSender, writes: StoreWritesState): MessageSender {
  return {
    send: async (...parameters) => {
      if (!writes.isOpenFor(parameters[0].instanceId)) throw new NotSentError();
      return sender.send(...parameters);
    },
  };
}
