/**
 * Finds the instance of a run. The instance never changes, so it is read once, outside of the transactions that need it. These
 * transactions then name every row by instance and run, and use only the shard of that instance.
 */

import { RecentEntries } from '../commit/recent-entries.js';
import { text } from '../connection/columns.js';
import { type Session, statement } from '../connection/connection.js';

const FIND = statement('SELECT run_key, instance_id FROM run_directory WHERE run_key = ANY($1::text[])');

/** Minimum number of runs that are remembered. */
const HALF = 50_000;

export class RunInstances {
  private readonly session: Pick<Session, 'query'>;
  private readonly known: RecentEntries<string>;

  constructor(session: Pick<Session, 'query'>, half = HALF) {
    this.session = session;
    this.known = new RecentEntries(half);
  }

  /** Returns the instances of the runs that exist, or that existed when they were first read. */
  async of(runKeys: Iterable<string>): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    const unknown: string[] = [];
    for (const runKey of runKeys) {
      const instanceId = this.known.get(runKey);
      if (instanceId === undefined) unknown.push(runKey);
      else found.set(runKey, instanceId);
    }
    if (unknown.length === 0) return found;
    for (const row of await this.session.query(FIND, [unknown])) {
      const [runKey, instanceId] = [text(row, 'run_key'), text(row, 'instance_id')];
      this.learn(runKey, instanceId);
      found.set(runKey, instanceId);
    }
    return found;
  }

  /** Records a new run. */
  learn(runKey: string, instanceId: string): void {
    this.known.set(runKey, instanceId);
  }
}
