import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { NonRetryableError, serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { CliHarness } from '../../testing/cli-harness.js';

describe('everstep repair', () => {
  let harness: CliHarness;
  let workflowUrl: string;
  let isBroken = true;

  before(async () => {
    harness = await CliHarness.open((signingKeys) =>
      toNodeHandler(
        serve(
          async (ctx) => {
            await ctx.run('first', () => 1);
            await ctx.run('second', () => {
              if (isBroken) throw new NonRetryableError('broken');
            });
          },
          { signingKeys },
        ),
      ),
    );
    workflowUrl = `${harness.appUrl}/job`;
  });
  after(() => harness.close());

  const everstep = (...args: readonly string[]) => harness.everstep('repair', ...args);
  const jsonOf = (...args: readonly string[]) => harness.jsonOf('repair', ...args);
  async function fail(count: number, label: string): Promise<void> {
    isBroken = true;
    for (let i = 0; i < count; i++) await harness.everstep('trigger', workflowUrl, '--label', label, '--wait');
  }

  test('a repair is planned, its canary passes and waits, and continue finishes it', async () => {
    await fail(4, 'night');
    const { code, stdout } = await everstep('plan', 'resume', '--label', 'night');
    assert.equal(code, 0);
    assert.match(stdout, /state +planned\n.*entries +4\n/s);
    assert.match(stdout, /steps kept +4\nmessages +4 or more\nduration +4\.0 s at 1 per second/);
    const repairId = /repair +(rep_\w+)/.exec(stdout)?.[1] ?? '';
    isBroken = false;
    const tried = await everstep('start', repairId, '--rate', '100', '--canary', '2', '--max-failures', '50%', '--watch');
    assert.equal(tried.code, 5);
    assert.match(tried.stdout, /canary +2 of 2 ended, 2 succeeded, 0 failed; limit 50%/);
    assert.match(
      (await everstep('continue', repairId, '--rate', '50')).stdout,
      /^rep_\w+ running: 2 of 4; 2 pending, 2 succeeded/,
    );
    const watched = await everstep('watch', repairId);
    assert.equal(watched.code, 0, watched.stderr);
    assert.match(watched.stdout, /rep_\w+ done: 4 of 4; 4 succeeded/);
    assert.match((await everstep('show', repairId, '--items')).stdout, /ENTRY +RUN +STATE.*succeeded/s);
    assert.match((await everstep('list', '--state', 'done')).stdout, new RegExp(`${repairId}.*resume +done +4 +4 +0 +0`));
  });

  test('a failed canary exits with 1 and prints the reason', async () => {
    await fail(3, 'again');
    const { repairId } = await jsonOf('plan', 'restart', '--label', 'again');
    const { code, stdout } = await everstep('start', repairId, '--rate', '100', '--canary', '1', '--watch');
    assert.equal(code, 1);
    assert.match(stdout, /stopped \(canary-failed: 1 of the first 1 failed again, which is more than 20%/);
    const refused = await everstep('continue', repairId);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /plan a new repair for the remaining entries/);
  });

  test('a delete can be paused and undone', async () => {
    await fail(1, 'old');
    const { repairId } = await jsonOf('plan', 'delete', '--label', 'old');
    assert.match((await everstep('start', repairId, '--undo', '5m')).stdout, /state +undo-window\n/);
    assert.match((await everstep('pause', repairId)).stdout, /paused: 0 of 1; 1 pending \(paused-by-hand\)/);
    assert.match((await everstep('abort', repairId)).stdout, /aborted: 0 of 1; 1 pending \(undone: nothing was deleted\)/);
  });

  test('invalid arguments exit with 2', async () => {
    for (const args of [
      ['plan', 'resume'],
      ['plan', 'repeat', '--all'],
      ['start', 'rep_1', '--rate', '0'],
      ['start', 'rep_1', '--rate', '1', '--max-failures', '5'],
      ['start', 'rep_1', '--rate', '1', '--canary', '1', '--max-failures', '101'],
    ])
      assert.equal((await everstep(...args)).code, 2, args.join(' '));
    assert.equal((await everstep('show', 'rep_none')).code, 3);
  });
});
