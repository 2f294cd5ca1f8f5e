/** Creates files that only the service's own user can read: the store contains signing keys, and search indexes contain user data. */
import { closeSync, openSync } from 'node:fs';

const OWNER_ONLY = 0o600;

/** Does nothing if the file exists. SQLite gives the log of a database the same mode. */
export function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, 'wx', OWNER_ONLY));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}
