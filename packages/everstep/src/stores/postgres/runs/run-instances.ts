/**
 * To which instance a run belongs. That never changes, so it is asked for once, outside of the transactions that need it:
 * they then name every row by its instance and its run, and stay on the shard of that instance.
 */

import { RecentEntries } from '../commit/recent-entries.js';
import { text } from '../connection/columns.js';
import { type Session, statement } from '../connection/connection.js';

const FIND = statement('SELECT run_key, instance_id FROM run_directory WHERE run_key = ANY($1::text[])');

/** At least so many runs are remembered. */
const HALF = 50_000;

export class RunInstances {
  private readonly session: Pick<Session, 'query'>;
  private readonly known: RecentEntries<string>;

  constructor(session: Pick<Session, 'query'>, half = HALF) {
    this.session = session;
    this.known = new RecentEntries(half);
  }

  /** Those of the runs that there are, or were when they were asked for first. */
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

  /** The run was made. */
  learn(runKey: string, instanceId: string): void {
    this.known.set(runKey, instanceId);
  }
}
