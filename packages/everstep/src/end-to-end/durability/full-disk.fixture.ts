/**
 * This module is loaded before the server. Commits of the embedded store fail as on a full disk while the file FULL_DISK_FLAG
 * exists.
 */
import { existsSync } from 'node:fs';
import { DatabaseSync, StatementSync } from 'node:sqlite';

const flagFile = process.env.FULL_DISK_FLAG ?? '';
const SQLITE_FULL = 13;

function throwIfFull(sql: string): void {
  if (sql !== 'COMMIT' || !existsSync(flagFile)) return;
  const errstr = 'database or disk is full';
  throw Object.assign(new Error(errstr), { code: 'ERR_SQLITE_ERROR', errcode: SQLITE_FULL, errstr });
}

const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function (sql) {
  throwIfFull(sql);
  return exec.call(this, sql);
};
const { run } = StatementSync.prototype;
StatementSync.prototype.run = function (this: StatementSync, ...parameters: Parameters<typeof run>) {
  throwIfFull(this.sourceSQL);
  return run.apply(this, parameters);
} as typeof run;
