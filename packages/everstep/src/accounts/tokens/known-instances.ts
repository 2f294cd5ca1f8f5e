/**
 * Caches all queue instances with their keys. If other processes share the store, an old entry is refreshed in the
 * background when it is used.
 */
import type { AccountStore, QueueInstance } from '../../ports/stores/account-store.js';
import { CACHE_TTL_MS, type CacheCoordinator } from '../cache-coordinator.js';

interface CachedInstance {
  readonly instance: QueueInstance;
  readonly readAt: number;
  /** Position in the order of the reads, so that the result of an earlier read does not replace that of a later one. */
  readonly readNumber: number;
}

export interface KnownInstances {
  /** Returns the cached instance, and refreshes an old entry in the background. */
  recall(instanceId: string): QueueInstance | null;
  /** Returns the cached instance without a refresh. */
  peek(instanceId: string): QueueInstance | null;
  /** Returns the cached instance. Throws if it is unknown. */
  recallExisting(instanceId: string): QueueInstance;
  /** Reads the instance only if it is not cached. */
  find(instanceId: string): Promise<QueueInstance | null>;
  /** Like `find`, but rejects if the instance does not exist. */
  require(instanceId: string): Promise<QueueInstance>;
  /** Reads the instance from the store into the cache. */
  read(instanceId: string): Promise<QueueInstance | null>;
  readAll(): Promise<void>;
  /** Caches an instance that this process has just written. */
  putWritten(instance: QueueInstance): void;
}

const missingInstance = (instanceId: string): Error => new Error(`queue instance ${instanceId} does not exist`);

/** Creates the cache. `cacheCoordinator` is absent if no other process uses the store. */
export function createKnownInstances(
  accounts: Pick<AccountStore, 'findInstance' | 'listInstances'>,
  cacheCoordinator: CacheCoordinator | undefined,
): KnownInstances {
  const elapsedMs = cacheCoordinator?.elapsedMs ?? (() => 0);
  const instances = new Map<string, CachedInstance>();
  let readCount = 0;

  const startRead = () => ({ readAt: elapsedMs(), readNumber: ++readCount });

  function put(instance: QueueInstance, readStart: Omit<CachedInstance, 'instance'>): void {
    const cachedInstance = instances.get(instance.instanceId);
    if (!cachedInstance || cachedInstance.readNumber <= readStart.readNumber)
      instances.set(instance.instanceId, { instance, ...readStart });
  }

  /** Removes a deleted instance. */
  function remove(instanceId: string, { readNumber }: Omit<CachedInstance, 'instance'>): void {
    const cachedInstance = instances.get(instanceId);
    if (cachedInstance && cachedInstance.readNumber <= readNumber) instances.delete(instanceId);
  }

  async function readAll(): Promise<void> {
    const readStart = startRead();
    const storedInstances = await accounts.listInstances();
    for (const instance of storedInstances) put(instance, readStart);
    const storedIds = new Set(storedInstances.map(({ instanceId }) => instanceId));
    for (const instanceId of instances.keys()) if (!storedIds.has(instanceId)) remove(instanceId, readStart);
  }

  async function read(instanceId: string): Promise<QueueInstance | null> {
    const readStart = startRead();
    const instance = await accounts.findInstance({ instanceId });
    if (instance) put(instance, readStart);
    else remove(instanceId, readStart);
    return instance;
  }

  function recall(instanceId: string): QueueInstance | null {
    const cachedInstance = instances.get(instanceId);
    if (cacheCoordinator && cachedInstance && elapsedMs() - cachedInstance.readAt >= CACHE_TTL_MS) {
      // Prevents concurrent refreshes. A failed refresh is repeated later.
      put(cachedInstance.instance, { ...cachedInstance, readAt: elapsedMs() });
      read(instanceId).catch(() => {});
    }
    return cachedInstance?.instance ?? null;
  }

  const find = async (instanceId: string): Promise<QueueInstance | null> => recall(instanceId) ?? read(instanceId);

  return {
    recall,
    peek: (instanceId) => instances.get(instanceId)?.instance ?? null,
    recallExisting(instanceId) {
      const instance = recall(instanceId);
      if (!instance) throw missingInstance(instanceId);
      return instance;
    },
    find,
    async require(instanceId) {
      const instance = await find(instanceId);
      if (!instance) throw missingInstance(instanceId);
      return instance;
    },
    read,
    readAll,
    putWritten: (instance) => put(instance, startRead()),
  };
}
