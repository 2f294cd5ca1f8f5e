import { runs } from './0001-runs.js';

/** SQL that leads from version n to version n + 1 stands at index n. Once released, an entry is never changed. */
export const MIGRATIONS: readonly string[] = [runs];
