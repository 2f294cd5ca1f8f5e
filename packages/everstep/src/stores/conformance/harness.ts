import type { Store } from '../../ports/stores/store.js';

/** A store created for one test, with its own data. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Whether the store keeps versions of runs, as a store of several processes must. */
  readonly hasVersions: boolean;
  /** Whether a batch is one transaction for each instance, so a faulty unit undoes only units of its instance. Default: false. */
  readonly commitsByInstance?: boolean;
  /** Closes the store and opens another on the same data. */
  reopen(): Promise<Store>;
  /** Closes every open store and removes the data. */
  dispose(): Promise<void>;
}

export type OpenStore = () => Promise<StoreUnderTest>;

/** Returns a test function that calls `body` with an empty store, and removes the store afterward. */
export function withStore(open: OpenStore, body: (store: Store, underTest: StoreUnderTest) => Promise<void>) {
  return async () => {
    const underTest = await open();
    try {
      await body(underTest.store, underTest);
    } finally {
      await underTest.dispose();
    }
  };
}
