/** The operator's plans file, on the disk. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readPlans } from './plans-file.js';
import { StartError } from './start-error.js';

async function fileWith(t: TestContext, text: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-plans-'));
  t.after(() => rm(directory, { recursive: true }));
  const file = join(directory, 'plans.json');
  await writeFile(file, text);
  return file;
}

const namesOf = async (file: string | null) => (await readPlans(file)).all.map(({ name }) => name);

test('without a file there is the built-in plan', async () => {
  assert.deepEqual(await namesOf(null), ['default']);
});

test('the plans of the file are there beside the default plan', async (t) => {
  assert.deepEqual(await namesOf(await fileWith(t, '{"plans": [{"name": "free", "maxSchedules": 10}]}')), ['default', 'free']);
});

test('a file that cannot be used stops the start, and all that is wrong is named in one sentence', async (t) => {
  const file = await fileWith(t, '{"plans": [{"name": "free", "maxSchedules": -1, "more": 1}]}');
  await assert.rejects(readPlans(file), (error) => {
    assert.ok(error instanceof StartError);
    for (const part of [file, 'more is nothing', 'maxSchedules must be']) assert.ok(error.message.includes(part), error.message);
    return true;
  });
});

test('a file that is not there stops the start', async (t) => {
  const file = await fileWith(t, '');
  await assert.rejects(
    readPlans(`${file}.missing`),
    (error) => error instanceof StartError && /cannot be read/.test(error.message),
  );
});
