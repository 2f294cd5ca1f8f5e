/**
 * Finds the instance of a run. The instance never changes, so it is read once, outside the transactions that need it. These
 * transactions then name every row by instance and run, and use only the shard of that instance.
 */

import type { ServerUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { RecentEntries } from '../commit/recent-entries.js';
import { text } from '../connection/columns.js';
import { type Session, statement } from '../connection/connection.js';

const SELECT_INSTANCES = statement('SELECT run_key, instance_id FROM run_directory WHERE run_key = ANY($1::text[])');

interface FoundInstances {
  readonly instances: ReadonlyMap<string, string>;
  /** The reason why runs that were not found may still exist; null if they do not exist. */
  readonly failure: ServerUnavailableError | null;
}

/** Minimum number of runs that are remembered; the maximum is twice as high. */
const MIN_REMEMBERED_RUNS = 50_000;

export class RunInstances {
  private readonly session: Pick<Session, 'query' | 'engine'>;
  private readonly recentInstances: RecentEntries<string>;

  constructor(session: Pick<Session, 'query' | 'engine'>, minRememberedRuns = MIN_REMEMBERED_RUNS) {
    this.session = session;
    this.recentInstances = new RecentEntries(minRememberedRuns);
  }

  /** Returns the instances of the runs that exist, or that existed when they were first read. */
  async instancesOf(runKeys: Iterable<string>): Promise<ReadonlyMap<string, string>> {
    const { instances, failure } = await this.find(runKeys);
    if (failure) throw failure;
    return instances;
  }

  /** Like `instancesOf`, but returns a failure instead of rejecting if missing runs may be on a server that is down. */
  async find(runKeys: Iterable<string>): Promise<FoundInstances> {
    const instances = new Map<string, string>();
    const unknownKeys: string[] = [];
    for (const runKey of runKeys) {
      const instanceId = this.recentInstances.get(runKey);
      if (instanceId === undefined) unknownKeys.push(runKey);
      else instances.set(runKey, instanceId);
    }
    if (unknownKeys.length === 0) return { instances, failure: null };
    for (const row of await this.session.query(SELECT_INSTANCES, [unknownKeys])) {
      const [runKey, instanceId] = [text(row, 'run_key'), text(row, 'instance_id')];
      this.remember(runKey, instanceId);
      instances.set(runKey, instanceId);
    }
    const isComplete = unknownKeys.every((runKey) => instances.has(runKey));
    return { instances, failure: isComplete ? null : (this.session.engine.servers?.anyOutageError ?? null) };
  }

  /** Remembers the instances of the runs in rows that were read. Returns the rows. */
  rememberFrom<Rows extends readonly { readonly runKey: string; readonly instanceId: string }[]>(rows: Rows): Rows {
    for (const { runKey, instanceId } of rows) this.remember(runKey, instanceId);
    return rows;
  }

  remember(runKey: string, instanceId: string): void {
    this.recentInstances.set(runKey, instanceId);
  }
}
