/**
 * Limits the number of objects that a queue instance creates by using their names: queues, URL groups and flow control keys.
 * Existing objects can always be used. Concurrent requests can each exceed a limit by one.
 */
import type { RefusalKind } from '../../accounts/plans/refusals.js';
import { ApiError, type ErrorCode } from '../../contract/error-codes.js';
import type { RunSettings } from '../../engine/runs/run.js';
import type { Overrides } from '../../engine/runs/settings.js';
import type { ControlStore } from '../../ports/stores/control-store.js';
import type { ApiContext } from '../operation.js';

/** Maximum number of existing flow control keys in the cache. Keys are never deleted. */
const MAX_CACHED_KEYS = 50_000;
const cachedKeys = new WeakMap<ControlStore, Set<string>>();

function cachedKeysOf(store: ControlStore): Set<string> {
  let keys = cachedKeys.get(store);
  if (!keys || keys.size >= MAX_CACHED_KEYS) {
    keys = new Set();
    cachedKeys.set(store, keys);
  }
  return keys;
}

type Context = Pick<ApiContext, 'limits' | 'reads'>;
type ObjectKind = 'queue' | 'url-group' | 'flow-control';

interface KindLimit {
  readonly limitName: 'maxQueues' | 'maxUrlGroups' | 'maxFlowControlKeys';
  readonly code: RefusalKind & ErrorCode;
  readonly pluralName: string;
  readonly exists: (store: ControlStore, instanceId: string, name: string) => Promise<boolean>;
}

const KINDS: Readonly<Record<ObjectKind, KindLimit>> = {
  queue: {
    limitName: 'maxQueues',
    code: 'too-many-queues',
    pluralName: 'queues',
    exists: async (store, instanceId, name) => (await store.findQueue({ instanceId, name })) !== null,
  },
  'url-group': {
    limitName: 'maxUrlGroups',
    code: 'too-many-url-groups',
    pluralName: 'URL groups',
    exists: async (store, instanceId, name) => (await store.findUrlGroup({ instanceId, name })) !== null,
  },
  'flow-control': {
    limitName: 'maxFlowControlKeys',
    code: 'too-many-flow-control-keys',
    pluralName: 'flow control keys',
    exists: async (store, instanceId, key) => {
      const [cache, cacheKey] = [cachedKeysOf(store), `${instanceId}\n${key}`];
      if (cache.has(cacheKey)) return true;
      const isFound = (await store.findFlowControl({ instanceId, key })) !== null;
      if (isFound) cache.add(cacheKey);
      return isFound;
    },
  },
};

/**
 * Names that one request uses first. A request with several new names creates its objects together, so the existing objects are
 * counted once, and the new names are added to them.
 */
export class NewNames {
  private readonly existingCounts = new Map<ObjectKind, Promise<number>>();
  private readonly names = new Map<ObjectKind, Set<string>>();

  /** Returns the new names of a kind. The caller adds to them. */
  of(kind: ObjectKind): Set<string> {
    const names = this.names.get(kind) ?? new Set<string>();
    this.names.set(kind, names);
    return names;
  }

  /** Returns the number of objects that existed when the request first used a new name. */
  existingCount(store: ControlStore, instanceId: string, objectKind: ObjectKind): Promise<number> {
    const count = this.existingCounts.get(objectKind) ?? store.countObjects({ instanceId, objectKind });
    this.existingCounts.set(objectKind, count);
    return count;
  }
}

/** Throws ApiError if the object does not exist and the plan allows no more objects of its kind. */
export async function assertObjectQuota(
  { limits, reads }: Context,
  instanceId: string,
  kind: ObjectKind,
  name: string,
  newNames = new NewNames(),
): Promise<void> {
  const { limitName, code, pluralName, exists } = KINDS[kind];
  const plan = limits?.plan(instanceId);
  const maxCount = plan?.[limitName] ?? null;
  if (!limits || !plan || maxCount === null || (await exists(reads.control, instanceId, name))) return;
  const existingCount = await newNames.existingCount(reads.control, instanceId, kind);
  const names = newNames.of(kind);
  if (names.has(name) || existingCount + names.size < maxCount) {
    names.add(name);
    return;
  }
  limits.countRefusal(instanceId, code);
  const newCount = names.size === 0 ? '' : `, new in this request: ${names.size}`;
  throw new ApiError(
    code,
    `the queue instance has reached the limit of ${pluralName} of the plan ${plan.name} (${limitName}: ${maxCount}, existing: ${existingCount}${newCount}); use an existing one, or ask the operator for another plan`,
  );
}

/**
 * Checks the limits for the queues and flow control keys in the settings of runs and messages. The checks of one request share
 * `newNames`. Throws ApiError.
 */
export async function allowNamedObjects(
  context: Context,
  instanceId: string,
  settings: readonly Pick<RunSettings, 'flowControl' | 'message'>[],
  newNames = new NewNames(),
): Promise<void> {
  const keys = new Set(settings.flatMap(({ flowControl }) => (flowControl ? [flowControl.key] : [])));
  const queues = new Set(settings.flatMap(({ message }) => (message?.queue === undefined ? [] : [message.queue])));
  for (const key of keys) await assertObjectQuota(context, instanceId, 'flow-control', key, newNames);
  for (const queue of queues) await assertObjectQuota(context, instanceId, 'queue', queue, newNames);
}

/** Checks the limit for the flow control key that overrides give to new runs, if there is one. Throws ApiError. */
export async function allowOverrides(
  context: Context,
  instanceId: string,
  { flowControlKey }: Pick<Overrides, 'flowControlKey'>,
): Promise<void> {
  if (flowControlKey !== undefined) await assertObjectQuota(context, instanceId, 'flow-control', flowControlKey);
}
