/** A lock that lets one script at a time prepare a clone, so that `npm start` and `npm test` can start together. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const RETRY_MS = 100;
/** A lock of this age without an owner was left by a process that ended before it wrote its id. */
const UNSIGNED_MS = 2000;

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/**
 * @template Result
 * @param {string} root of the repository
 * @param {() => Promise<Result>} work
 * @returns {Promise<Result>}
 */
export async function alone(root, work) {
  const lock = join(root, '.runtime', 'preparing');
  const owner = join(lock, 'pid');
  await mkdir(join(root, '.runtime'), { recursive: true });
  let unsignedMs = 0;
  for (;;) {
    try {
      await mkdir(lock);
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const pid = Number(await readFile(owner, 'utf8').catch(() => ''));
    if (pid > 0 ? !isAlive(pid) : unsignedMs >= UNSIGNED_MS) await rm(lock, { recursive: true, force: true });
    else await sleep(RETRY_MS);
    unsignedMs = pid > 0 ? 0 : unsignedMs + RETRY_MS;
  }
  try {
    await writeFile(owner, String(process.pid));
    return await work();
  } finally {
    await rm(lock, { recursive: true, force: true });
  }
}
