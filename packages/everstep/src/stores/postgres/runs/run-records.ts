/**
 * Reads the records of single runs, for clients that waited for the end of their run. Runs that end in one commit are requested in
 * one turn of the event loop, so they are read together.
 */
import type { RunRecord } from '../../../ports/stores/store.js';
import { text } from '../../records/columns.js';
import { runRecordOf } from '../../records/run-rows.js';
import { type Database, statement } from '../connection/connection.js';
import { columnArrays, columnNames, unnest } from '../connection/row-sets.js';
import type { RunInstances } from './run-instances.js';
import { RUN_RECORD_COLUMNS, RUN_RECORD_TABLES } from './run-rows.js';
import { RUN_KEY } from './tables.js';

const SELECT_RECORDS = statement(`
  SELECT ${RUN_RECORD_COLUMNS}
  FROM ${unnest(RUN_KEY)} AS u(${columnNames(RUN_KEY)})
  JOIN (${RUN_RECORD_TABLES}) ON r.instance_id = u.instance_id AND r.run_key = u.run_key`);

interface RecordRequest {
  readonly resolve: (record: RunRecord | null) => void;
  readonly reject: (error: unknown) => void;
}

export class RunRecords {
  private readonly database: Database;
  private readonly instances: RunInstances;
  private requests = new Map<string, RecordRequest[]>();

  constructor(database: Database, instances: RunInstances) {
    this.database = database;
    this.instances = instances;
  }

  /** Returns the record of the run at the time of this call or later; null if there is no such run. */
  find(runKey: string): Promise<RunRecord | null> {
    return new Promise((resolve, reject) => {
      if (this.requests.size === 0) setImmediate(() => void this.answerRequests());
      const requestsOfRun = this.requests.get(runKey);
      if (requestsOfRun) requestsOfRun.push({ resolve, reject });
      else this.requests.set(runKey, [{ resolve, reject }]);
    });
  }

  private async answerRequests(): Promise<void> {
    const { requests } = this;
    this.requests = new Map();
    try {
      const keys = [...(await this.instances.instancesOf(requests.keys()))].map(([run_key, instance_id]) => ({
        instance_id,
        run_key,
      }));
      const rows = await this.database.snapshot((session) => session.query(SELECT_RECORDS, columnArrays(RUN_KEY, keys)), {
        genericPlans: true,
      });
      const records = new Map(rows.map((row) => [text(row, 'run_key'), runRecordOf(row)]));
      for (const [runKey, requestsOfRun] of requests)
        for (const { resolve } of requestsOfRun) resolve(records.get(runKey) ?? null);
    } catch (error) {
      for (const requestsOfRun of requests.values()) for (const { reject } of requestsOfRun) reject(error);
    }
  }
}
