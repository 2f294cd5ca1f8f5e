import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { NonRetryableError, serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { CliHarness } from '../../testing/cli-harness.js';

interface Order {
  readonly amount: number;
}

describe('commands that repair one run', () => {
  let harness: CliHarness;
  let workflowUrl: string;
  /** Name of the first step in the deployed code. */
  let firstStep = 'reserve';
  before(async () => {
    harness = await CliHarness.open((signingKeys) =>
      toNodeHandler(
        serve<Order>(
          async (ctx) => {
            const reserved = await ctx.run(firstStep, () => ({ place: 7 }));
            await ctx.run('charge', () => {
              if (ctx.payload.amount < 0) throw new NonRetryableError('nothing to charge');
              return ctx.payload.amount;
            });
            return reserved.place;
          },
          { signingKeys },
        ),
      ),
    );
    workflowUrl = `${harness.appUrl}/order`;
    const trigger = (amount: number, runId: string) =>
      harness.everstep('trigger', workflowUrl, '-d', JSON.stringify({ amount }), '--run-id', runId, '--retries', '0', '--wait');
    await trigger(5, 'good');
    await trigger(-5, 'bad');
  });
  after(() => harness.close());

  const ended = async (runId: string) => {
    for (let turn = 0; ; turn++) {
      const run = await harness.jsonOf('runs', 'get', runId);
      if (run.workflowState !== 'RUN_STARTED') return run;
      assert.ok(turn < 1_000, 'the run did not end');
    }
  };

  test('runs compare shows the first difference to the last successful run, or to a given run', async () => {
    const text = await harness.textOf('runs', 'compare', 'bad');
    assert.match(
      text,
      /^bad \(RUN_FAILED\) and good \(RUN_SUCCESS\)\nfirst difference: the runs have different inputs at \.body\.amount\n/,
    );
    assert.match(text, / {2}left {3}-5\n {2}right {2}5\n/);
    assert.match(text, /\nsame +Run +reserve *\ndiffers +Run +charge +\(no such step\) +5\n$/);
    assert.match(await harness.textOf('runs', 'compare', 'good', 'good'), /\nno differences\n$/);
    assert.equal((await harness.jsonOf('runs', 'compare', 'bad')).firstDifference.kind, 'input');
    assert.equal((await harness.everstep('runs', 'compare', 'bad', 'missing')).code, 3);
  });

  test('runs fork starts a run that continues with kept and given results', async () => {
    const file = join(harness.directory.path, 'place.json');
    await writeFile(file, '{"place":9}');
    const given = ['--result', `1=@${file}`, '--result', '2=0', '--note', 'paid by hand'];
    assert.equal(await harness.textOf('runs', 'fork', 'bad', '--from-step', '2', ...given, '--id', 'forked'), 'forked\n');
    await ended('forked');
    const text = await harness.textOf('runs', 'get', 'forked');
    assert.match(text, /\nfrom +fork of bad from step 2 \(paid by hand\)\n/);
    assert.match(text, /\nresult +9\n/);
    const input = ['--input', '{"amount":3}', '--id', 'other input'];
    await harness.textOf('runs', 'fork', 'bad', '--from-step', '2', ...input);
    assert.equal((await ended('other input')).workflowState, 'RUN_SUCCESS');
    for (const wrong of [
      ['--result', 'x'],
      ['--result', '1=not json'],
      ['--content-type', 'text/plain'],
    ])
      assert.equal((await harness.everstep('runs', 'fork', 'bad', '--from-step', '2', ...wrong)).code, 2, wrong.join(' '));
    assert.equal((await harness.everstep('runs', 'fork', 'bad', '--from-step', '9')).code, 1);
    assert.equal((await harness.everstep('runs', 'fork', 'bad')).code, 2, 'the step is required');
  });

  test('runs lineage lists related runs', async () => {
    const text = await harness.textOf('runs', 'lineage', 'bad');
    assert.match(text, /\ncreated +fork +forked +RUN_SUCCESS +\d{4}\S+ \S+ +from step 2, paid by hand, of bad\n/);
    assert.match(await harness.textOf('runs', 'lineage', 'forked'), /\ncreated from +fork +bad +RUN_FAILED /);
    assert.equal(await harness.textOf('runs', 'lineage', 'good'), 'No related runs.\n');
    assert.equal((await harness.jsonOf('runs', 'lineage', 'bad')).complete, true);
  });

  test('runs check and dlq check report whether the deployed code can replay runs', async () => {
    assert.match(await harness.textOf('runs', 'check', 'bad'), /^fits +bad +dlq_\w+\n {2}The code requests every recorded step/);
    firstStep = 'hold stock';
    const { outcome, stepName } = await harness.jsonOf('runs', 'check', 'good');
    assert.deepEqual([outcome, stepName], ['differs', 'reserve']);
    const text = await harness.textOf('dlq', 'check', '--workflow-url', workflowUrl);
    assert.match(
      text,
      /^differs +bad +dlq_\w+\n {2}Step 1 is recorded as Run "reserve".*\nfits: 0, differs: 1, could not be checked: 0\n$/,
    );
    assert.equal(await harness.textOf('dlq', 'check', '--label', 'unused'), 'No matching dead letters.\n');
    assert.equal((await harness.jsonOf('dlq', 'check')).checks.length, 1);
    firstStep = 'reserve';
  });
});
