/**
 * Wraps a store so that tests write to it as the server does: each write to an active run is a decision on the latest version of
 * the run. Versions are hidden, so tests without versions work unchanged.
 */
import type { CommitUnit, Store, StoreGuard } from '../../../ports/stores/store.js';

/** Versions of the active runs, by their keys. */
export type Versions = Map<string, number>;

/** Returns the wrapped store. `versions` is kept up to date, and can be passed to the next store on the same data. */
export function storeWithDecisions(store: Store, versions: Versions): Store {
  const commit: Store['commit'] = async (units) => {
    const nextVersions: Versions = new Map(versions);
    const results = await store.commit(units.map((unit) => withDecisions(unit, nextVersions)));
    versions.clear();
    for (const [runKey, version] of nextVersions) versions.set(runKey, version);
    return results;
  };
  const loadRun: Store['loadRun'] = async (query) => {
    const run = await store.loadRun(query);
    return run && { ...run, version: 0 };
  };
  const dueTasks: Store['dueTasks'] = async (query) => (await store.dueTasks(query)).map((task) => ({ ...task, runVersion: 0 }));
  return Object.assign(Object.create(store) as Store, { commit, loadRun, dueTasks });
}

/** Returns the unit with the guards of a decision, and updates `nextVersions`. A unit that may be rejected stays unchanged. */
function withDecisions(unit: CommitUnit, nextVersions: Versions): CommitUnit {
  const { guards, writes } = unit;
  const isSure = guards.every((guard) => guard.kind === 'run-active' && nextVersions.has(guard.runKey));
  const addedGuards: StoreGuard[] = [];
  if (isSure) {
    const runKeys = new Set(
      writes.flatMap((write) => ('runKey' in write && nextVersions.has(write.runKey) ? [write.runKey] : [])),
    );
    for (const runKey of runKeys) {
      const version = nextVersions.get(runKey) ?? 0;
      addedGuards.push({ kind: 'run-active', runKey, version, next: version + 1 });
      nextVersions.set(runKey, version + 1);
    }
  }
  for (const write of writes) {
    if (write.kind === 'create-run') nextVersions.set(write.run.key, 0);
    if (write.kind === 'end-run') nextVersions.delete(write.runKey);
  }
  return { guards: [...guards.filter(({ kind }) => !isSure || kind !== 'run-active'), ...addedGuards], writes };
}
