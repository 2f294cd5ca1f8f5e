import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { payloadEncryption } from '@everstep/sdk/encryption';
import { runInProcess } from './testing/in-process.js';
import { type TestDirectory, testDirectory } from './testing/spawned-cli.js';

const BIN = fileURLToPath(new URL('./bin.js', import.meta.url));
const [KEY, OTHER] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'));
const envelope = (key: string | undefined, value: unknown) => ({
  $encrypted: payloadEncryption({ keys: [key ?? ''] }).encrypt(JSON.stringify(value)),
});
const RUN = {
  workflowRunId: 'run',
  steps: [{ out: JSON.stringify(envelope(KEY, { cents: 5 })) }],
  result: envelope(KEY, 'paid'),
};
const DECRYPTED = { workflowRunId: 'run', steps: [{ out: '{"cents":5}' }], result: 'paid' };

describe('everstep decrypt', () => {
  let directory: TestDirectory;
  before(async () => {
    directory = await testDirectory();
  });
  after(() => directory.remove());

  async function decrypt(content: string, env: Readonly<Record<string, string | undefined>> = { EVERSTEP_PAYLOAD_KEYS: KEY }) {
    const file = join(directory.path, 'run.json');
    await writeFile(file, content);
    const set = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
    return runInProcess(['decrypt', file], { cwd: directory.path, env: Object.fromEntries(set) });
  }

  test('prints the JSON of a file with every encrypted value decrypted', async () => {
    const { code, stdout, stderr } = await decrypt(JSON.stringify(RUN));
    assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual(JSON.parse(stdout), DECRYPTED);
  });

  test('reads standard input, and the keys from a file', async () => {
    const keys = join(directory.path, 'payload.keys');
    await writeFile(keys, `${OTHER}\n${KEY}\n`);
    const child = spawn(process.execPath, [BIN, 'decrypt'], {
      env: { ...process.env, EVERSTEP_PAYLOAD_KEYS_FILE: keys },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin.end(JSON.stringify(RUN));
    const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout), DECRYPTED);
  });

  test('keeps a value whose key is missing, reports the id of the key, and exits with 1', async () => {
    const value = { known: envelope(KEY, 1), unknown: envelope(OTHER, 2) };
    const { code, stdout, stderr } = await decrypt(JSON.stringify(value));
    assert.equal(code, 1);
    assert.deepEqual(JSON.parse(stdout), { known: 1, unknown: value.unknown });
    const [, id] = value.unknown.$encrypted.split('.');
    assert.match(stderr, new RegExp(`^a value cannot be decrypted: the key ${id} is missing; the keys are [0-9a-f]{12}\n$`));
  });

  test('refuses to start without keys, with an invalid key, and with input that is not JSON', async () => {
    const cases: readonly (readonly [Parameters<typeof decrypt>, RegExp])[] = [
      [['{}', {}], /EVERSTEP_PAYLOAD_KEYS/],
      [['{}', { EVERSTEP_PAYLOAD_KEYS: 'short' }], /^payload key 1 must be 32 bytes in Base64/],
      [['{'], /^The input must be JSON: /],
    ];
    for (const [given, message] of cases) {
      const { code, stdout, stderr } = await decrypt(...given);
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, message);
    }
  });
});
