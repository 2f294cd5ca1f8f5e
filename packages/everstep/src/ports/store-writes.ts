/** Whether the store takes writes, for work that must not start while its result cannot be recorded. */
export interface StoreWritesState {
  /** False from the first commit that failed because the store is unavailable until a write succeeds again. */
  readonly isOpen: boolean;
  /** Reports the failure of a call of the store. True when the error says that the store is unavailable. */
  failed(error: unknown): boolean;
}

/** The store always takes writes. */
export const ALWAYS_OPEN: StoreWritesState = { isOpen: true, failed: () => false };
