/** Files that nobody but the service's own user reads: the store keeps signing keys, and search indexes what users wrote. */
import { closeSync, openSync } from 'node:fs';

const OWNER_ONLY = 0o600;

/** Nothing when the file is there already. SQLite gives the log of a database the same mode. */
export function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, 'wx', OWNER_ONLY));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}
