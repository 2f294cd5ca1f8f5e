import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runInProcess } from '../../testing/in-process.js';
import { endAll, runCommand, SpawnedCli, type TestDirectory, testDirectory } from '../../testing/spawned-cli.js';

describe('everstep rotate-secrets', () => {
  let directory: TestDirectory;
  const everstep = (...args: readonly string[]) => runInProcess(args, { cwd: directory.path });
  const kept = async () => JSON.parse(await readFile(join(directory.path, '.everstep/credentials.json'), 'utf8'));

  before(async () => {
    directory = await testDirectory();
  });
  after(async () => {
    await endAll();
    await directory.remove();
  });

  test('secrets are rotated with the server running or stopped', async () => {
    const service = new SpawnedCli(['serve', '--port', '0'], { cwd: directory.path });
    await service.untilPrinted(/is listening on/);
    const { url, token } = await kept();
    const statusOf = async () =>
      (await fetch(`${url}/v2/workflows/logs`, { headers: { authorization: `Bearer ${token}` } })).status;
    const rotated = await everstep('rotate-secrets', '--json');
    assert.deepEqual(
      [rotated.code, JSON.parse(rotated.stdout).replaced.includes('token-signing-key')],
      [0, true],
      rotated.stderr,
    );
    assert.equal(await statusOf(), 200);
    const ended = await everstep('rotate-secrets', '--end-tokens');
    assert.match(ended.stdout, /keys replaced: token-signing-key[\s\S]*All permanent tokens are now invalid/);
    assert.equal(await statusOf(), 401);
    await service.end();
    const offline = await everstep('rotate-secrets', '--only-encrypt');
    assert.deepEqual([offline.code, offline.stdout], [0, '0 secrets encrypted with the current key.\n'], offline.stderr);
    const next = new SpawnedCli(['serve', '--port', '0'], { cwd: directory.path });
    await next.untilPrinted(/New ones are in/);
    await next.end();
  });

  test('a failed rotation reports the reason', async () => {
    const none = await everstep('rotate-secrets', '--data-dir', 'nowhere');
    assert.deepEqual([none.code, /There is no store at .*nowhere/.test(none.stderr)], [1, true], none.stderr);
    const keyed = { cwd: directory.path, env: { EVERSTEP_SECRETS_KEY: 'k'.repeat(43) } };
    const wrong = await runCommand(['rotate-secrets'], keyed);
    assert.deepEqual([wrong.code, /\(secrets-key-wrong\)$/.test(wrong.stderr.trim())], [1, true], wrong.stderr);
  });
});
