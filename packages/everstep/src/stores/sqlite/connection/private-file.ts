/** Creates files that only the user of the server can read: stores contain signing keys, and search indexes contain user data. */
import { closeSync, openSync } from 'node:fs';

const OWNER_ONLY = 0o600;

/** Creates the file; does nothing if it exists. SQLite gives the log of a database the same mode. */
export function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, 'wx', OWNER_ONLY));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}
