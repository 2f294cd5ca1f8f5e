/** Runs `everstep verify` over the store of a server. `ServerProcess` does so at the end of every test. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { runInProcess } from '../cli/testing/in-process.js';

async function assertVerified(...storeOptions: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await runInProcess(['verify', ...storeOptions], { cwd: '/' });
  assert.equal(code, 0, `the store violates its invariants\n${stdout}${stderr}`);
  assert.match(stdout, /^\d+ invariants hold\.$/m);
}

/** Checks a file that no process has open. A store that was never created violates nothing. */
export async function assertStoreInvariants(store: { readonly dataDir: string; readonly storeFile: string }): Promise<void> {
  if (existsSync(store.storeFile)) await assertVerified('--data-dir', store.dataDir, '--store', store.storeFile);
}

/** Checks a database, which must be reachable. */
export const assertDatabaseInvariants = (url: string): Promise<void> => assertVerified('--store', url);
