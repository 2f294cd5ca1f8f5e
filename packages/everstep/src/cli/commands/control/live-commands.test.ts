import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CliHarness } from '../../testing/cli-harness.js';

describe('everstep live and everstep nodes', () => {
  let harness: CliHarness;
  before(async () => {
    harness = await CliHarness.open(() => (_request, response) => void response.writeHead(500).end());
  });
  after(() => harness.close());

  /** Makes changes until the command, which may not be connected yet, has ended. */
  async function changing(command: Promise<string>): Promise<string> {
    let hasEnded = false;
    const ended = command.finally(() => {
      hasEnded = true;
    });
    for (let n = 0; !hasEnded && n < 200; n++) {
      await harness.textOf('flow', 'pin', `key-${n}`, '--parallelism', '1');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return ended;
  }

  test('everstep live prints changes as text and as JSON', async () => {
    const text = await changing(harness.textOf('live', '--once'));
    assert.match(text, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}[a-z -]*flow-control/);
    const line = await changing(harness.textOf('live', '--once', '--json'));
    const { topics, runIds } = JSON.parse(line);
    assert.ok(topics.includes('flow-control'), line);
    assert.ok(Array.isArray(runIds));
    assert.equal(line.split('\n').length, 2, 'one line per change');
  });

  test('everstep live reports an invalid token', async () => {
    const { code, stderr } = await harness.everstep('live', '--token', 'not.a.token');
    assert.notEqual(code, 0);
    assert.match(stderr, /the token is not valid/);
  });

  test('everstep nodes lists the only node of an embedded store', async () => {
    const { nodes } = await harness.jsonOf('nodes');
    assert.equal(nodes.length, 1);
    assert.deepEqual([nodes[0].self, nodes[0].leaving, nodes[0].leaseUntil], [true, false, null]);
    const text = await harness.textOf('nodes');
    assert.match(text, /^NODE +HOST +VERSION +SINCE \(UTC\) +LEASE UNTIL +DELIVERIES +GATES\nn_alone \* /);
  });
});
