/** The plans file of the operator. */
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

test('without a file the built-in plans are used', async () => {
  assert.deepEqual(await namesOf(null), ['default', 'standard']);
});

test('plans in the file are added to the built-in plans', async (t) => {
  const file = await fileWith(t, '{"plans": [{"name": "free", "maxSchedules": 10}]}');
  assert.deepEqual(await namesOf(file), ['default', 'standard', 'free']);
});

test('the plan of new instances can be set; an unknown plan fails the start', async (t) => {
  const file = await fileWith(t, '{"plans": [{"name": "free", "maxSchedules": 10}]}');
  assert.equal((await readPlans(file, 'free')).planForNewInstances.name, 'free');
  assert.equal((await readPlans(null, 'default')).planForNewInstances.maxParallelism, null);
  await assert.rejects(readPlans(file, 'gold'), (error) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, /EVERSTEP_NEW_INSTANCE_PLAN must be one of the plans \(default, standard, free\); got "gold"/);
    return true;
  });
});

test('an invalid file fails the start with one sentence that lists all problems', async (t) => {
  const file = await fileWith(t, '{"plans": [{"name": "free", "maxSchedules": -1, "more": 1}]}');
  await assert.rejects(readPlans(file, null), (error) => {
    assert.ok(error instanceof StartError);
    for (const part of [file, 'more is not a known field', 'maxSchedules must be'])
      assert.ok(error.message.includes(part), error.message);
    return true;
  });
});

test('a missing file fails the start', async (t) => {
  const file = await fileWith(t, '');
  await assert.rejects(
    readPlans(`${file}.missing`, null),
    (error) => error instanceof StartError && /is not readable/.test(error.message),
  );
});
