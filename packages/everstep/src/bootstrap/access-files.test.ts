import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, lstat, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createAuthority } from '../accounts/tokens/authority.js';
import { createSystemClock } from '../clock/system-clock.js';
import { createSystemRandom } from '../clock/system-random.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { AccessFiles } from './access-files.js';
import { credentialsFile, readCredentials } from './credentials.js';
import type { ServerAccess } from './env-file.js';
import { startAccounts } from './first-start.js';
import { StartError } from './start-error.js';

async function listening(t: TestContext) {
  const dataDir = await mkdtemp(join(tmpdir(), 'everstep-kept-'));
  const store = await openSqliteStore({ file: ':memory:' });
  t.after(async () => {
    await store.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  const clock = createSystemClock();
  const authority = await createAuthority({ store, now: clock.now });
  const { accounts } = store;
  const account = { dataDir, region: 'eu-central-1', adminEmail: 'admin@localhost', accounts, authority, clock };
  const beginAccounts = () => startAccounts({ ...account, random: createSystemRandom() });
  const { credentials } = await beginAccounts();
  const errors: string[] = [];
  const log = { debug() {}, info() {}, warn() {}, error: (_details: object, message: string) => errors.push(message) };
  const envFile = join(dataDir, 'service.env');
  const kept = new AccessFiles({ dataDir, envFile, authority, log });
  const access = { ...credentials, url: 'http://127.0.0.1:1', managementUrl: 'http://127.0.0.1:1' };
  await kept.write(access);
  const writeTo = (path: string) => new AccessFiles({ dataDir, envFile: path, authority, log }).write(access);
  /** Writes the files as the next start does. */
  const restart = async (nextAccess: ServerAccess) => {
    await beginAccounts();
    await new AccessFiles({ dataDir, envFile, authority, log }).write(nextAccess);
  };
  return { dataDir, envFile, kept, credentials, access, errors, store, authority, writeTo, restart };
}

test('the credential files contain the latest rotated signing keys', async (t) => {
  const { dataDir, envFile, kept, credentials } = await listening(t);
  const { authority } = kept;
  await Promise.all([1, 2, 3].map(() => authority.rotateSigningKeys(credentials.instanceId)));
  const { current, next } = authority.signingKeys(credentials.instanceId);
  assert.notEqual(next, credentials.nextSigningKey);
  const lines = (await readFile(envFile, 'utf8')).split('\n');
  assert.ok(lines.includes(`EVERSTEP_CURRENT_SIGNING_KEY=${current}`) && lines.includes(`EVERSTEP_NEXT_SIGNING_KEY=${next}`));
  assert.ok(lines.includes(`EVERSTEP_TOKEN=${credentials.token}`));
  const read = await readCredentials(dataDir);
  assert.deepEqual([read?.currentSigningKey, read?.nextSigningKey, read?.token], [current, next, credentials.token]);
});

test('signing keys rotated by another process are written to the files after its notice', async (t) => {
  const { dataDir, kept, credentials, authority, store } = await listening(t);
  const { instanceId } = credentials;
  await store.accounts.setSigningKeys({ instanceId, current: 'sig_x', next: 'sig_y' });
  await authority.forget(instanceId);
  await kept.refresh('qi_another');
  assert.equal((await readCredentials(dataDir))?.currentSigningKey, credentials.currentSigningKey);
  await kept.refresh(null);
  const read = await readCredentials(dataDir);
  assert.deepEqual([read?.currentSigningKey, read?.nextSigningKey], ['sig_x', 'sig_y']);
  await rm(dataDir, { recursive: true });
  await kept.refresh(instanceId);
  assert.equal(await readCredentials(dataDir), null, 'unchanged keys are not written again');
});

test('files that already have the content stay unchanged, so that a start requires no disk space', async (t) => {
  const { dataDir, envFile, access, restart } = await listening(t);
  const identitiesOf = () => Promise.all([credentialsFile(dataDir), envFile].map(async (path) => (await stat(path)).ino));
  const identities = await identitiesOf();
  await restart(access);
  assert.deepEqual(await identitiesOf(), identities);
  await chmod(envFile, 0o644);
  await restart({ ...access, url: 'http://127.0.0.1:2' });
  assert.ok((await identitiesOf()).every((identity, index) => identity !== identities[index]));
  assert.equal((await stat(envFile)).mode & 0o777, 0o600);
});

test('credentials that cannot be written are reported with their file', async (t) => {
  const { dataDir, access, restart } = await listening(t);
  await rm(dataDir, { recursive: true });
  await assert.rejects(
    restart(access),
    (error) =>
      error instanceof StartError && error.message.startsWith(`The credentials file ${credentialsFile(dataDir)} is not writable`),
  );
});

test('keys are rotated even if the files cannot be written, and the error is logged', async (t) => {
  const { dataDir, kept, credentials, errors } = await listening(t);
  await rm(dataDir, { recursive: true });
  const { current } = await kept.authority.rotateSigningKeys(credentials.instanceId);
  assert.equal(current, credentials.nextSigningKey);
  assert.equal(errors.length, 1);
});

test('an env file that is a socket or another special file is refused and not replaced', async (t) => {
  const { dataDir, writeTo } = await listening(t);
  const envFile = join(dataDir, 'socket');
  const server = createServer().listen(envFile);
  t.after(() => server.close());
  await once(server, 'listening');
  await assert.rejects(writeTo(envFile), { message: `The env file ${envFile} is not writable: it is not a regular file.` });
  assert.ok((await lstat(envFile)).isSocket());
});

test('an env file that is a symbolic link stays one, and the file that it names is written', async (t) => {
  const { dataDir, envFile, writeTo } = await listening(t);
  const link = join(dataDir, 'link');
  await symlink(envFile, link);
  await writeFile(envFile, '');
  await writeTo(link);
  assert.ok((await lstat(link)).isSymbolicLink());
  assert.match(await readFile(envFile, 'utf8'), /^EVERSTEP_URL=/);
});
