/** A lock that lets one script at a time prepare a clone, so that `npm start` and `npm test` can start together. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const RETRY_MS = 100;
/** Age at which a lock without an owner is removed. Its process ended before it wrote its id. */
const OWNERLESS_LOCK_MS = 2000;

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/**
 * Runs the work while no other script prepares the clone.
 *
 * @template Result
 * @param {string} root of the repository
 * @param {() => Promise<Result>} work
 * @returns {Promise<Result>}
 */
export async function runExclusively(root, work) {
  const lock = join(root, '.runtime', 'preparing');
  const ownerFile = join(lock, 'pid');
  await mkdir(join(root, '.runtime'), { recursive: true });
  let ownerlessMs = 0;
  for (;;) {
    try {
      await mkdir(lock);
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const pid = Number(await readFile(ownerFile, 'utf8').catch(() => ''));
    if (pid > 0 ? !isAlive(pid) : ownerlessMs >= OWNERLESS_LOCK_MS) await rm(lock, { recursive: true, force: true });
    else await sleep(RETRY_MS);
    ownerlessMs = pid > 0 ? 0 : ownerlessMs + RETRY_MS;
  }
  try {
    await writeFile(ownerFile, String(process.pid));
    return await work();
  } finally {
    await rm(lock, { recursive: true, force: true });
  }
}
