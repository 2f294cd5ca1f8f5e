/** Statements about one run. They name its instance, so that a database with several servers asks one of them. */
import type { RunPlace } from '../commit/known-run.js';

/** Rows of the run with the instance $1 and the key $2. */
export const ofRun = (table: string): string => `${table}.instance_id = $1 AND ${table}.run_key = $2`;

/** The values of `ofRun`. */
export const valuesOf = ({ instanceId, runKey }: RunPlace): readonly [instanceId: string, runKey: string] => [instanceId, runKey];
