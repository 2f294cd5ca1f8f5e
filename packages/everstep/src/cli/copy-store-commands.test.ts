/** `everstep copy-store` as a process: what it takes, what it prints, how it ends. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openTestSchemas } from '../stores/postgres/testing/schemas.js';
import { type Ended, endAll, runCommand, SpawnedCli, type TestDirectory, testDirectory } from './testing/spawned-cli.js';

/** What the command tells of itself every two seconds. */
const PROGRESS = /^(writing|checking) .+: \d+( of \d+)?\n/gm;

const schemas = await openTestSchemas();

describe('a store that is copied from the command line', () => {
  let directory: TestDirectory;
  const at = (name: string) => join(directory.path, name);
  const everstep = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
    runCommand(args, { cwd: directory.path, env });
  const noDatabase = 'postgres://user:pa55word@127.0.0.1:1/everstep';

  before(async () => {
    directory = await testDirectory();
    const service = new SpawnedCli(['serve', '--port', '0', '--data-dir', at('data')], { cwd: directory.path });
    await service.printed(/listens at/);
    await service.end();
  });
  after(async () => {
    await endAll();
    await directory.remove();
  });

  test('a command line that names no database is refused', async () => {
    for (const to of [[], ['--to', 'mysql://x'], ['--to', 'some/file.db'], ['--to', 'postgres://host']]) {
      const { code, stdout, stderr } = await everstep(['copy-store', '--from', at('data'), ...to]);
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.match(stderr, /--to/);
    }
  });

  test('what cannot be copied is said on standard error, without the password', async () => {
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

  test('a back-up is copied once, with the keys that tokens and signatures are made with', {
    skip: typeof schemas === 'string' ? schemas : false,
  }, async () => {
    if (typeof schemas === 'string') return;
    const { url } = await schemas.make();
    await everstep(['backup', '--data-dir', at('data'), '--to', at('backup')]);
    const manifest = await readFile(at('backup/manifest.json'), 'utf8');
    const { code, stdout, stderr } = await everstep(['copy-store', '--from', at('backup')], { EVERSTEP_STORE: url });
    // What takes longer than a moment says how far it is.
    assert.deepEqual([code, stderr.replaceAll(PROGRESS, '')], [0, '']);
    assert.match(stdout, /Copied the back-up in/);
    const again = await everstep(['copy-store', '--from', at('backup'), '--to', url, '--json']);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /is not empty/);
    assert.equal(await readFile(at('backup/manifest.json'), 'utf8'), manifest);
    assert.equal((await everstep(['verify-backup', '--from', at('backup')])).code, 0, 'the back-up is as it was');

    const service = new SpawnedCli(['serve', '--port', '0', '--data-dir', at('data')], {
      cwd: directory.path,
      env: { EVERSTEP_STORE: url },
    });
    const [, address = ''] = await service.printed(/listens at (\S+)/);
    const { token } = JSON.parse(await readFile(at('data/credentials.json'), 'utf8'));
    const answer = await fetch(`${address}/v2/keys`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(answer.status, 200, 'the token of the embedded store is good');
    await service.end();
  });
});
