import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parseConfig } from './config.js';
import { readSecretFiles } from './secret-files.js';

let directory = '';
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'everstep-secrets-'));
});
after(() => rm(directory, { recursive: true }));

async function file(name: string, content: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, content);
  return path;
}

test('a secret is read from the file in its variable, without the trailing line break', async () => {
  const url = 'postgres://u:pass word@h/db';
  for (const content of [url, `${url}\n`, `${url}\r\n`]) {
    const env = { EVERSTEP_STORE_FILE: await file('store', content), OTHER: 'x' };
    assert.deepEqual(readSecretFiles(env), { ok: true, env: { ...env, EVERSTEP_STORE: url } });
  }
  const read = readSecretFiles({ EVERSTEP_TOKEN_FILE: await file('token', 't'), EVERSTEP_ADMIN_API_KEY_FILE: '' });
  assert.equal(read.ok && read.env.EVERSTEP_TOKEN, 't');
});

test('EVERSTEP_STORE_FILE is a known variable that sets the store', async () => {
  const env = { EVERSTEP_STORE_FILE: await file('database', 'postgres://u:p@h:5/db\n') };
  const read = readSecretFiles(env);
  const parsed = parseConfig({ mode: 'serve', flags: {}, env: read.ok ? read.env : {}, cwd: '/' });
  assert.deepEqual(parsed.ok && parsed.config.store, { kind: 'postgres', url: 'postgres://u:p@h:5/db' });
});

test('an invalid file is named without showing the secret', async () => {
  const faults: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [{ EVERSTEP_STORE_FILE: join(directory, 'none') }, /^EVERSTEP_STORE_FILE: the file .*none is not usable: ENOENT/],
    [{ EVERSTEP_TOKEN_FILE: directory }, /^EVERSTEP_TOKEN_FILE: .*EISDIR/],
    [{ EVERSTEP_TOKEN_FILE: await file('empty', '\n') }, /it is empty$/],
    [{ EVERSTEP_TOKEN_FILE: await file('long', 'secret'.repeat(3_000)) }, /larger than 16384 bytes$/],
    [{ EVERSTEP_TOKEN: 'secret', EVERSTEP_TOKEN_FILE: await file('both', 'secret') }, /are both set; set one of them$/],
  ];
  for (const [env, words] of faults) {
    const read = readSecretFiles(env);
    assert.ok(!read.ok);
    assert.match(read.problems.join(), words);
    assert.ok(!read.problems.join().includes('secret '));
  }
});

test('store keys are read from a file, the current one first; an invalid key is not shown', async () => {
  const [current, old] = ['A'.repeat(43), 'B'.repeat(42)];
  const parsedWith = async (content: string) => {
    const read = readSecretFiles({ EVERSTEP_SECRETS_KEY_FILE: await file('keys', content) });
    return parseConfig({ mode: 'serve', flags: {}, env: read.ok ? read.env : {}, cwd: '/' });
  };
  const parsed = await parsedWith(`${current}=\n${old}8=\n`);
  assert.deepEqual(parsed.ok && parsed.config.secretsKeys?.map((key) => key.length), [32, 32]);
  for (const content of [`${current}=,short`, `${current},${current}`, 'secret words', `${current}A`]) {
    const refused = await parsedWith(content);
    assert.ok(!refused.ok);
    assert.match(refused.problems.join(), /^EVERSTEP_SECRETS_KEY must be 1 to 8 different keys of 32 random bytes/);
    assert.ok(!refused.problems.join().includes(content));
  }
});
