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

const namesOf = async (file: string | null) => (await readPlans(file, null)).all.map(({ name }) => name);

test('without a file there are the built-in plans', async () => {
  assert.deepEqual(await namesOf(null), ['default', 'standard']);
});

test('the plans of the file are there beside the built-in plans', async (t) => {
  const file = await fileWith(t, '{"plans": [{"name": "free", "maxSchedules": 10}]}');
  assert.deepEqual(await namesOf(file), ['default', 'standard', 'free']);
});

test('the plan of new instances can be chosen; one that does not exist stops the start', async (t) => {
  const file = await fileWith(t, '{"plans": [{"name": "free", "maxSchedules": 10}]}');
  assert.equal((await readPlans(file, 'free')).ofNewInstances.name, 'free');
  assert.equal((await readPlans(null, 'default')).ofNewInstances.maxParallelism, null);
  await assert.rejects(readPlans(file, 'gold'), (error) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, /EVERSTEP_NEW_INSTANCE_PLAN must be one of the plans \(default, standard, free\), not "gold"/);
    return true;
  });
});

test('a file that cannot be used stops the start, and all that is wrong is named in one sentence', async (t) => {
  const file = await fileWith(t, '{"plans": [{"name": "free", "maxSchedules": -1, "more": 1}]}');
  await assert.rejects(readPlans(file, null), (error) => {
    assert.ok(error instanceof StartError);
    for (const part of [file, 'more is nothing', 'maxSchedules must be']) assert.ok(error.message.includes(part), error.message);
    return true;
  });
});

test('a file that is not there stops the start', async (t) => {
  const file = await fileWith(t, '');
  await assert.rejects(
    readPlans(`${file}.missing`, null),
    (error) => error instanceof StartError && /cannot be read/.test(error.message),
  );
});
