/**
 * Finds the instance of a run. The instance never changes, so it is read once, outside of the transactions that need it. These
 * transactions then name every row by instance and run, and use only the shard of that instance.
 */

import type { ServerUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { RecentEntries } from '../commit/recent-entries.js';
import { text } from '../connection/columns.js';
import { type Session, statement } from '../connection/connection.js';

const FIND = statement('SELECT run_key, instance_id FROM run_directory WHERE run_key = ANY($1::text[])');

interface FoundInstances {
  readonly instances: ReadonlyMap<string, string>;
  /** Why runs that were not found may still exist; null if they do not. */
  readonly failure: ServerUnavailableError | null;
}

/** Minimum number of runs that are remembered. */
const HALF = 50_000;

export class RunInstances {
  private readonly session: Pick<Session, 'query' | 'engine'>;
  private readonly recent: RecentEntries<string>;

  constructor(session: Pick<Session, 'query' | 'engine'>, half = HALF) {
    this.session = session;
    this.recent = new RecentEntries(half);
  }

  /** Returns the instances of the runs that exist, or that existed when they were first read. */
  async instancesOf(runKeys: Iterable<string>): Promise<ReadonlyMap<string, string>> {
    const { instances, failure } = await this.find(runKeys);
    if (failure) throw failure;
    return instances;
  }

  /** The same, but with a failure instead of a rejection if others may be on a server that is down. */
  async find(runKeys: Iterable<string>): Promise<FoundInstances> {
    const instances = new Map<string, string>();
    const unknown: string[] = [];
    for (const runKey of runKeys) {
      const instanceId = this.recent.get(runKey);
      if (instanceId === undefined) unknown.push(runKey);
      else instances.set(runKey, instanceId);
    }
    if (unknown.length === 0) return { instances, failure: null };
    for (const row of await this.session.query(FIND, [unknown])) {
      const [runKey, instanceId] = [text(row, 'run_key'), text(row, 'instance_id')];
      this.remember(runKey, instanceId);
      instances.set(runKey, instanceId);
    }
    const isComplete = unknown.every((runKey) => instances.has(runKey));
    return { instances, failure: isComplete ? null : (this.session.engine.servers?.anyDown ?? null) };
  }

  /** Records the runs of tasks or other rows that were read. Returns them. */
  rememberFrom<Rows extends readonly { readonly runKey: string; readonly instanceId: string }[]>(rows: Rows): Rows {
    for (const { runKey, instanceId } of rows) this.remember(runKey, instanceId);
    return rows;
  }

  /** Records a new run. */
  remember(runKey: string, instanceId: string): void {
    this.recent.set(runKey, instanceId);
  }
}
