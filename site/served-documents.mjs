/** The OpenAPI documents, as a service of this build serves them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const START_TIMEOUT_MS = 60_000;

async function urlWhenReady(envFile, child) {
  for (const deadline = Date.now() + START_TIMEOUT_MS; Date.now() < deadline; await pause(50)) {
    if (child.exitCode !== null) throw new Error(`the service exited with code ${child.exitCode}`);
    const text = await readFile(envFile, 'utf8').catch(() => '');
    const url = /^EVERSTEP_URL=(.+)$/m.exec(text)?.[1];
    if (url) return url;
  }
  throw new Error(`the service did not start within ${START_TIMEOUT_MS} ms`);
}

/**
 * Starts a service on an empty store, reads the documents and stops it.
 *
 * @param {string} root of the repository, built
 * @param {readonly string[]} paths such as /openapi.json
 * @returns {Promise<string[]>} JSON texts, in the order of `paths`
 */
export async function servedDocuments(root, paths) {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-site-'));
  const envFile = join(directory, 'service.env');
  const bin = join(root, 'packages', 'everstep', 'bin', 'everstep.js');
  const args = ['dev', '--port', '0', '--no-demo', '--data-dir', join(directory, 'data'), '--write-env-file', envFile];
  const child = spawn(process.execPath, [bin, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  try {
    const url = await urlWhenReady(envFile, child);
    return await Promise.all(paths.map(async (path) => (await fetch(`${url}${path}`)).text()));
  } finally {
    if (child.exitCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await rm(directory, { recursive: true, force: true });
  }
}
