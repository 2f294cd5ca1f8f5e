/** `everstep copy-store`: arguments, output and exit codes. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openTestSchemas } from '../../../stores/postgres/testing/schemas.js';
import { runInProcess } from '../../testing/in-process.js';
import {
  type EndedProcess,
  endAll,
  runCommand,
  SpawnedCli,
  type TestDirectory,
  testDirectory,
} from '../../testing/spawned-cli.js';

/** Progress that the command prints every two seconds. */
const PROGRESS = /^(writing|checking) .+: \d+( of \d+)?\n/gm;

const schemas = await openTestSchemas();

describe('everstep copy-store', () => {
  let directory: TestDirectory;
  const at = (name: string) => join(directory.path, name);
  const everstep = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<EndedProcess> =>
    runInProcess(args, { cwd: directory.path, env });
  const noDatabase = 'postgres://user:pa55word@127.0.0.1:1/everstep';

  before(async () => {
    directory = await testDirectory();
    const service = new SpawnedCli(['serve', '--port', '0', '--data-dir', at('data')], { cwd: directory.path });
    await service.untilPrinted(/is listening on/);
    await service.end();
  });
  after(async () => {
    await endAll();
    await directory.remove();
  });

  test('a missing or invalid database URL is refused', async () => {
    for (const to of [[], ['--to', 'mysql://x'], ['--to', 'some/file.db'], ['--to', 'postgres://host']]) {
      const { code, stdout, stderr } = await everstep(['copy-store', '--from', at('data'), ...to]);
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.match(stderr, /--to/);
    }
  });

  test('failures are printed to stderr without the password', async () => {
    for (const [from, words] of [
      [at('nowhere'), /There is no store at/],
      [at('data'), /postgres:\/\/127\.0\.0\.1:1\/everstep cannot be reached/],
    ] as const) {
      const { code, stdout, stderr } = await everstep(['copy-store', '--from', from], { EVERSTEP_STORE: noDatabase });
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, words);
      assert.ok(!stderr.includes('pa55word'));
    }
  });

  test('a backup is copied once, and its tokens and signing keys stay valid', {
    skip: typeof schemas === 'string' ? schemas : false,
  }, async () => {
    if (typeof schemas === 'string') return;
    const { url } = await schemas.make();
    await everstep(['backup', '--data-dir', at('data'), '--to', at('backup')]);
    const manifest = await readFile(at('backup/manifest.json'), 'utf8');
    const environment = { cwd: directory.path, env: { EVERSTEP_STORE: url } };
    const { code, stdout, stderr } = await runCommand(['copy-store', '--from', at('backup')], environment);
    // A copy that takes longer prints its progress.
    assert.deepEqual([code, stderr.replaceAll(PROGRESS, '')], [0, '']);
    assert.match(stdout, /Copied and verified the backup in/);
    const again = await everstep(['copy-store', '--from', at('backup'), '--to', url, '--json']);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /is not empty/);
    assert.equal(await readFile(at('backup/manifest.json'), 'utf8'), manifest);
    assert.equal((await everstep(['verify-backup', '--from', at('backup')])).code, 0, 'the backup did not change');

    const service = new SpawnedCli(['serve', '--port', '0', '--data-dir', at('data')], {
      cwd: directory.path,
      env: { EVERSTEP_STORE: url },
    });
    const [, address = ''] = await service.untilPrinted(/is listening on (\S+)/);
    const { token } = JSON.parse(await readFile(at('data/credentials.json'), 'utf8'));
    const response = await fetch(`${address}/v2/keys`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(response.status, 200, 'the token of the embedded store is valid');
    await service.end();
  });
});
