/** The condition for statements about one run. It contains the instance, so that only one of several database servers is used. */
import type { RunInInstance } from '../commit/known-run.js';

/** Returns a condition for the rows of the run with the instance $1 and the key $2. */
export const runCondition = (table: string): string => `${table}.instance_id = $1 AND ${table}.run_key = $2`;

/** Returns the values for the parameters of `runCondition`. */
export const runValues = ({ instanceId, runKey }: RunInInstance): readonly [instanceId: string, runKey: string] => [
  instanceId,
  runKey,
];
