/** What the runtime asks of an instance's plan and budget. The synchronous questions are answered from memory. */
export interface InstanceLimits {
  /** Deliveries of the instance that may be in flight at once; null: no limit of its own. */
  maxParallelism(instanceId: string): number | null;
  /** The longest that what has ended is kept, ms; null: no such bound. */
  retentionBounds(instanceId: string): RetentionBounds;
  /** Asked before a tick of a schedule starts a run: null when it may, else in words why not. A run that may is counted. */
  refuseTick(instanceId: string): Promise<string | null>;
  /** Messages were counted for the instance, durably: what it has spent may be news to somebody. */
  messagesCounted(instanceId: string): void;
}

export interface RetentionBounds {
  readonly runsMs: number | null;
  readonly deadLettersMs: number | null;
}

const NO_BOUNDS: RetentionBounds = Object.freeze({ runsMs: null, deadLettersMs: null });

/** For a runtime without accounts: nothing is limited. */
export const NO_LIMITS: InstanceLimits = Object.freeze({
  maxParallelism: () => null,
  retentionBounds: () => NO_BOUNDS,
  refuseTick: async () => null,
  messagesCounted: () => {},
});
