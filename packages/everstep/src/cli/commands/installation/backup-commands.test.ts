import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { appendFile, chmod, copyFile, cp, mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runInProcess } from '../../testing/in-process.js';
import {
  type EndedProcess,
  endAll,
  readEnvFile,
  runCommand,
  SpawnedCli,
  type TestDirectory,
  testDirectory,
} from '../../testing/spawned-cli.js';

describe('backup commands', () => {
  let directory: TestDirectory;
  /** Backup of a stopped server. */
  let sound: string;
  const at = (name: string) => join(directory.path, name);
  const everstep = (...args: readonly string[]): Promise<EndedProcess> => runInProcess(args, { cwd: directory.path });

  async function started(dataDir: string): Promise<SpawnedCli> {
    const service = new SpawnedCli(['serve', '--port', '0', '--data-dir', dataDir], { cwd: directory.path });
    await service.untilPrinted(/is listening on/);
    return service;
  }

  before(async () => {
    directory = await testDirectory();
    await (await started(at('stopped'))).end();
    sound = at('sound');
    // As a process, as users run it. The tests run commands in their own process, which is faster.
    const made = await runCommand(['backup', '--to', sound, '--data-dir', at('stopped')], { cwd: directory.path });
    assert.deepEqual([made.code, made.stderr], [0, '']);
    assert.match(made.stdout, /Backed up the store of a stopped server/);
  });
  after(async () => {
    await endAll();
    await directory.remove();
  });

  test('a stopped server is backed up, and its data does not change', async () => {
    assert.deepEqual((await readdir(sound)).sort(), ['credentials.json', 'everstep.db', 'manifest.json', 'secrets.key']);
    assert.equal((await stat(sound)).mode & 0o777, 0o700);
    const { code, stdout } = await everstep('verify-backup', '--from', sound, '--json');
    assert.equal(code, 0);
    const manifest = JSON.parse(stdout);
    assert.equal(manifest.counts.queueInstances, 1);
    assert.equal(manifest.counts.runs, 0);
    await (await started(at('stopped'))).end();
  });

  test('a backup of a killed server includes its write-ahead log, although a stale socket exists', async () => {
    await (await started(at('killed'))).end('SIGKILL');
    assert.ok(existsSync(at('killed/control.sock')));
    const { code, stdout } = await everstep('backup', '--to', at('of-killed'), '--data-dir', at('killed'), '--json');
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout).counts.users, 1);
  });

  test('only the owner can use the socket of a running server, and it is removed when the server stops', async () => {
    const service = await started(at('stopped'));
    for (const name of ['control.sock', 'control.json']) assert.equal((await stat(at(`stopped/${name}`))).mode & 0o777, 0o600);
    await service.end();
    for (const name of ['control.sock', 'control.json']) assert.ok(!existsSync(at(`stopped/${name}`)), name);
  });

  test('a data directory whose path is too long for a socket is backed up', async () => {
    const long = at(`${'d'.repeat(100)}/data`);
    const service = await started(long);
    const { code, stdout } = await everstep('backup', '--to', at('of-long'), '--data-dir', long);
    assert.equal(code, 0);
    assert.match(stdout, /Backed up the running server/);
    const { socket } = JSON.parse(await readFile(join(long, 'control.json'), 'utf8'));
    await service.end();
    assert.ok(!existsSync(dirname(socket)), 'the shorter path is removed');
  });

  test('credentials can be excluded; the restored server creates new ones', async () => {
    const made = await everstep('backup', '--to', at('bare'), '--data-dir', at('stopped'), '--no-credentials');
    assert.equal(made.code, 0);
    assert.deepEqual((await readdir(at('bare'))).sort(), ['everstep.db', 'manifest.json', 'secrets.key']);
    assert.equal((await everstep('restore', '--from', at('bare'), '--data-dir', at('from-bare'))).code, 0);
    const service = await started(at('from-bare'));
    await service.untilPrinted(/New ones are in/);
    await service.end();
  });

  test('a restored server without its secrets key reports the missing key, and starts once the key exists', async () => {
    const made = await everstep('backup', '--to', at('keyless'), '--data-dir', at('stopped'), '--no-secrets-key');
    assert.equal(made.code, 0);
    assert.equal((await everstep('restore', '--from', at('keyless'), '--data-dir', at('from-keyless'))).code, 0);
    const refused = await runCommand(['serve', '--port', '0', '--data-dir', at('from-keyless')], { cwd: directory.path });
    assert.deepEqual([refused.code, /\(secrets-key-missing\)/.test(refused.stderr)], [1, true], refused.stderr);
    await copyFile(at('stopped/secrets.key'), at('from-keyless/secrets.key'));
    await (await started(at('from-keyless'))).end();
  });

  test('neither the output nor the manifest contains secrets', async () => {
    const { token, adminApiKey } = JSON.parse(await readFile(join(sound, 'credentials.json'), 'utf8'));
    const printed = await everstep('verify-backup', '--from', sound, '--json');
    for (const text of [printed.stdout, await readFile(join(sound, 'manifest.json'), 'utf8')])
      for (const secret of [token, adminApiKey]) assert.ok(!text.includes(secret));
  });

  test('restored files are private, and the restored server keeps its token', async () => {
    const { code, stdout } = await everstep('restore', '--from', sound, '--data-dir', at('restored'));
    assert.equal(code, 0, stdout);
    for (const name of await readdir(at('restored')))
      assert.equal((await stat(at(`restored/${name}`))).mode & 0o777, 0o600, name);
    const envFile = at('restored.env');
    const service = new SpawnedCli(['serve', '--port', '0', '--data-dir', at('restored'), '--write-env-file', envFile], {
      cwd: directory.path,
    });
    await service.untilPrinted(/is listening on/);
    const kept = JSON.parse(await readFile(join(sound, 'credentials.json'), 'utf8'));
    assert.equal((await readEnvFile(envFile)).EVERSTEP_TOKEN, kept.token);
    await service.end();
  });

  test('an encrypted backup is unreadable and requires its passphrase or key', async () => {
    await writeFile(at('passphrase'), 'correct horse battery staple\n');
    await writeFile(at('wrong'), 'another passphrase\n');
    const key = { EVERSTEP_SECRETS_KEY: 'k'.repeat(43) };
    const withKey = (...args: readonly string[]) => runInProcess(args, { cwd: directory.path, env: key });
    const { token } = JSON.parse(await readFile(at('stopped/credentials.json'), 'utf8'));
    const cases = [
      { name: 'by-passphrase', everstep, secret: ['--passphrase-file', 'passphrase'], bad: ['--passphrase-file', 'wrong'] },
      { name: 'by-key', everstep: withKey, secret: [], bad: ['--passphrase-file', 'wrong'] },
    ];
    for (const { name, everstep: run, secret, bad } of cases) {
      const made = await run('backup', '--encrypt', ...secret, '--to', at(name), '--data-dir', at('stopped'));
      assert.deepEqual([made.code, made.stderr], [0, '']);
      const names = ['credentials.json.enc', 'everstep.db.enc', 'manifest.json', 'secrets.key.enc'];
      assert.deepEqual((await readdir(at(name))).sort(), names);
      for (const file of names) {
        const text = await readFile(join(at(name), file), 'latin1');
        assert.ok(!text.includes(token) && !text.includes('SQLite format'), file);
      }
      assert.equal((await run('verify-backup', '--from', at(name), ...secret)).code, 0);
      for (const wrong of [bad, []].filter((_, index) => name === 'by-passphrase' || index === 0)) {
        const refused = await run('restore', '--from', at(name), '--data-dir', at('never'), ...wrong);
        assert.deepEqual([refused.code, /passphrase|secrets-key-wrong/.test(refused.stderr)], [1, true], refused.stderr);
      }
      assert.ok(!existsSync(at('never')));
      assert.equal((await run('restore', '--from', at(name), '--data-dir', at(`${name}-restored`), ...secret)).code, 0);
      for (const file of ['credentials.json', 'secrets.key'])
        assert.deepEqual(await readFile(at(`${name}-restored/${file}`)), await readFile(at(`stopped/${file}`)), file);
      assert.equal((await everstep('verify', '--data-dir', at(`${name}-restored`))).code, 0);
    }
    assert.deepEqual(
      (await readdir(at('stopped'))).filter((name) => name.endsWith('.tmp')),
      [],
      'no plain copy remains',
    );
    await changeManifest(at('by-passphrase'), (text) => text.replace('"runs": 0', '"runs": 7'));
    const altered = await everstep('verify-backup', '--from', at('by-passphrase'), '--passphrase-file', 'passphrase');
    assert.deepEqual([altered.code, /manifest has changed/.test(altered.stderr)], [1, true], altered.stderr);
    const keyless = await everstep('backup', '--encrypt', '--to', at('x'), '--data-dir', at('stopped'));
    assert.deepEqual([keyless.code, /--encrypt requires --passphrase-file/.test(keyless.stderr)], [2, true]);
  });

  test('restore refuses a directory that is not empty', async () => {
    await mkdir(at('occupied'));
    await writeFile(at('occupied/everstep.db'), 'precious');
    const { code, stderr } = await everstep('restore', '--from', sound, '--data-dir', at('occupied'));
    assert.equal(code, 1);
    assert.match(stderr, /is not empty. A backup can only be restored into an empty directory/);
    assert.equal(await readFile(at('occupied/everstep.db'), 'utf8'), 'precious');
  });

  test('backup refuses a directory that is not empty, with the server running or stopped', async () => {
    const first = await everstep('backup', '--to', sound, '--data-dir', at('stopped'));
    const service = await started(at('stopped'));
    const second = await everstep('backup', '--to', sound, '--data-dir', at('stopped'));
    await service.end();
    for (const { code, stderr } of [first, second]) {
      assert.equal(code, 1);
      assert.match(stderr, /is not empty. A backup requires an empty directory/);
    }
    assert.equal((await everstep('verify-backup', '--from', sound)).code, 0);
  });

  const damages: readonly (readonly [what: string, damage: (backup: string) => Promise<void>, problem: RegExp])[] = [
    ['a changed byte', (backup) => changeByte(join(backup, 'everstep.db')), /everstep\.db has changed since/],
    [
      'a file that grew',
      (backup) => appendFile(join(backup, 'credentials.json'), ' '),
      /credentials\.json has \d+ bytes, but had/,
    ],
    ['a missing file', (backup) => rm(join(backup, 'credentials.json')), /credentials\.json is missing/],
    ['no manifest', (backup) => rm(join(backup, 'manifest.json')), /does not contain a complete backup/],
    [
      'an invalid manifest',
      (backup) => writeFile(join(backup, 'manifest.json'), '{}'),
      /manifest\.json is damaged, or was made by an unsupported version/,
    ],
    [
      'a manifest with a path outside of the backup',
      (backup) => changeManifest(backup, (text) => text.replace('"credentials.json"', '"../../credentials.json"')),
      /manifest\.json is damaged, or was made by an unsupported version/,
    ],
    [
      'a manifest with other counts',
      (backup) => changeManifest(backup, (text) => text.replace('"runs": 0', '"runs": 7')),
      /has 0 runs, but its manifest states 7/,
    ],
  ];
  for (const [what, damage, problem] of damages) {
    test(`${what} is detected, and nothing is restored`, async () => {
      const backup = at(`damaged ${what}`);
      await cp(sound, backup, { recursive: true });
      await damage(backup);
      for (const args of [
        ['verify-backup', '--from', backup],
        ['restore', '--from', backup, '--data-dir', at('never')],
      ]) {
        const { code, stderr } = await everstep(...args);
        assert.equal(code, 1);
        assert.match(stderr, problem);
      }
      assert.ok(!existsSync(at('never')));
    });
  }

  test('a backup on a read-only file system is verified without leaving files', async () => {
    const backup = at('read-only');
    await cp(sound, backup, { recursive: true });
    await chmod(backup, 0o500);
    assert.equal((await everstep('verify-backup', '--from', backup)).code, 0);
    assert.deepEqual((await readdir(backup)).sort(), (await readdir(sound)).sort());
    await chmod(backup, 0o700);
  });

  test('a failed backup reports the reason and leaves no files', async () => {
    const none = await everstep('backup', '--to', at('x'), '--data-dir', at('nowhere'));
    assert.deepEqual([none.code, /There is no store at .*nowhere/.test(none.stderr)], [1, true], none.stderr);
    const postgres = await everstep('backup', '--to', at('x'), '--store', 'postgres://user:secret@host/db');
    assert.equal(postgres.code, 2);
    assert.match(postgres.stderr, /Back it up with PostgreSQL tools/);
    assert.doesNotMatch(postgres.stderr, /secret/);
    await mkdir(at('foreign'));
    await copyFile(join(sound, 'credentials.json'), at('foreign/everstep.db'));
    const foreign = await everstep('backup', '--to', at('x'), '--data-dir', at('foreign'));
    assert.equal(foreign.code, 1);
    assert.match(foreign.stderr, /is not a database, or it is damaged/);
    assert.ok(!existsSync(at('x')), 'a failed backup leaves no files');
  });

  test('verify reports a missing store and a damaged search index', async () => {
    const none = await everstep('verify', '--data-dir', at('nowhere'));
    assert.deepEqual([none.code, /There is no store at .*nowhere/.test(none.stderr)], [1, true], none.stderr);
    await cp(at('stopped'), at('damaged-index'), { recursive: true });
    const whole = await everstep('verify', '--data-dir', at('damaged-index'), '--json');
    const { online, counts, doubts } = JSON.parse(whole.stdout);
    assert.deepEqual([whole.code, online, counts.queueInstances, doubts], [0, false, 1, []]);
    await mkdir(at('damaged-index/search'), { recursive: true });
    await writeFile(at('damaged-index/search/idx_1.db'), 'this is not a database. '.repeat(1000));
    const damaged = await everstep('verify', '--data-dir', at('damaged-index'));
    assert.equal(damaged.code, 1);
    assert.match(damaged.stderr, /idx_1\.db is not a database, or it is damaged/);
  });

  test('a store used by a server without a command socket is reported as in use', async () => {
    const service = await started(at('stopped'));
    await rm(at('stopped/control.json'));
    const { code, stderr } = await everstep('backup', '--to', at('y'), '--data-dir', at('stopped'));
    const verified = await everstep('verify', '--data-dir', at('stopped'));
    await service.end();
    assert.deepEqual([code, verified.code], [1, 1]);
    assert.match(stderr, /is in use by another process/);
    assert.match(verified.stderr, /is in use by another process/);
    assert.ok(!existsSync(at('y')));
  });
});

async function changeByte(path: string): Promise<void> {
  const file = await open(path, 'r+');
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, 5000);
  await file.write(Buffer.from([(buffer[0] ?? 0) ^ 1]), 0, 1, 5000);
  await file.close();
}

async function changeManifest(backup: string, change: (text: string) => string): Promise<void> {
  const path = join(backup, 'manifest.json');
  await writeFile(path, change(await readFile(path, 'utf8')));
}
