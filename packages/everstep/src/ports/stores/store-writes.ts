/** Reports whether the store accepts writes, for work that must not start while its result cannot be recorded. */
export interface StoreWritesState {
  /**
   * Whether the store accepts writes. False from the first commit that fails because the store is unavailable until a write
   * succeeds again.
   */
  readonly isOpen: boolean;
  /** The same for one queue instance, whose server may be unavailable while others are not. */
  isOpenFor(instanceId: string): boolean;
  /** Reports that a call to the store failed. Returns true if the error means that the store is unavailable. */
  reportFailure(error: unknown): boolean;
}

/** The state of a store that always accepts writes. */
export const ALWAYS_OPEN: StoreWritesState = { isOpen: true, isOpenFor: () => true, reportFailure: () => false };
