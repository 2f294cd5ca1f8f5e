/** Statements about one run. They name its instance, so that a database with several servers asks one of them. */
import type { RunInInstance } from '../commit/known-run.js';

/** Returns a condition for the rows of the run with the instance $1 and the key $2. */
export const ofRun = (table: string): string => `${table}.instance_id = $1 AND ${table}.run_key = $2`;

/** Returns the values of `ofRun`. */
export const valuesOf = ({ instanceId, runKey }: RunInInstance): readonly [instanceId: string, runKey: string] => [
  instanceId,
  runKey,
];
