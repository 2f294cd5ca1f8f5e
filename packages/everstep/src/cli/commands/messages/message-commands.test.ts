import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CliHarness } from '../../testing/cli-harness.js';

describe('commands for plain messages', () => {
  let harness: CliHarness;
  const taken: string[] = [];
  before(async () => {
    harness = await CliHarness.open(() => async (request, response) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const down = request.url === '/down';
      if (!down) taken.push(`${request.method} ${request.url} ${body}`);
      response.writeHead(down ? 503 : 200).end();
    });
  });
  after(() => harness.close());
  const idIn = (text: string): string => /^(msg_\S+) to /m.exec(text)?.[1] ?? assert.fail(text);
  /** Polls at most 500 times. */
  const until = async (args: readonly string[], words: RegExp): Promise<string> => {
    for (let turn = 0; ; turn++) {
      const text = await harness.textOf(...args);
      if (words.test(text)) return text;
      assert.ok(turn < 500, text);
    }
  };

  test('a message is sent and listed after its delivery', async () => {
    const sent = await harness.textOf('messages', 'send', `${harness.appUrl}/hook`, '--body', '{"order":1}', '--method', 'PUT');
    const id = idIn(sent);
    const text = await until(['messages', 'list', '--id', id], /DELIVERED/);
    assert.match(text, new RegExp(`DELIVERED +${id} +${harness.appUrl}/hook`));
    assert.deepEqual(taken, ['PUT /hook {"order":1}']);
    const { logs } = await harness.jsonOf('messages', 'list', '--id', id, '--state', 'DELIVERED');
    assert.deepEqual([logs.length, logs[0].messageId], [1, id]);
    const states = async (...args: readonly string[]): Promise<string[]> =>
      (await harness.jsonOf('messages', 'list', '--id', id, ...args)).logs.map(({ state }: { state: string }) => state);
    assert.deepEqual(await states('--oldest-first'), (await states()).reverse());
    assert.match(await harness.textOf('messages', 'list', '--to', 'http://unused.test/'), /^No matching message events\.$/m);
  });

  test('a pending message is shown and canceled; a missing message is not found', async () => {
    const id = idIn(await harness.textOf('messages', 'send', `${harness.appUrl}/later`, '--body', 'text', '--delay', '1h'));
    assert.equal(JSON.parse(await harness.textOf('messages', 'get', id)).messageId, id);
    assert.equal(await harness.textOf('messages', 'cancel', id), `${id} canceled\n`);
    assert.equal((await harness.everstep('messages', 'cancel', 'msg_none')).code, 3);
    assert.equal((await harness.everstep('messages', 'get', 'msg_none')).code, 3);
  });

  test('queues are created, paused, resumed and deleted', async () => {
    assert.equal(await harness.textOf('queues', 'list'), 'No queues.\n');
    assert.equal(await harness.textOf('queues', 'set', 'mail', '--parallelism', '2'), 'mail has parallelism 2\n');
    assert.equal(await harness.textOf('queues', 'pause', 'mail'), 'mail paused\n');
    await harness.textOf('messages', 'send', `${harness.appUrl}/mail`, '--queue', 'mail', '--body', 'one');
    await until(['queues', 'list'], /^mail +paused +1 +2 /m);
    assert.equal(await harness.textOf('queues', 'resume', 'mail'), 'mail resumed\n');
    await until(['messages', 'list', '--queue', 'mail'], /DELIVERED .* queue mail/);
    assert.equal(await harness.textOf('queues', 'delete', 'mail'), 'mail deleted\n');
    assert.equal((await harness.everstep('queues', 'pause', 'none')).code, 3);
  });

  test('a message to a URL group is sent to each of its endpoints', async () => {
    for (const name of ['a', 'b'])
      await harness.textOf('url-groups', 'add', 'partners', `${harness.appUrl}/${name}`, '--name', name);
    const sent = await harness.textOf('messages', 'send', 'partners', '--body', '1');
    assert.equal(sent.trim().split('\n').length, 2);
    await until(['messages', 'list', '--group', 'partners', '--state', 'DELIVERED'], /\/a[\s\S]*\/b|\/b[\s\S]*\/a/);
    await harness.textOf('url-groups', 'remove', 'partners', `${harness.appUrl}/a`);
    const text = await harness.textOf('url-groups', 'list');
    assert.ok(text.includes(`${harness.appUrl}/b`) && !text.includes(`${harness.appUrl}/a`), text);
    assert.equal(await harness.textOf('url-groups', 'delete', 'partners'), 'partners deleted\n');
    assert.equal(await harness.textOf('url-groups', 'list'), 'No URL groups.\n');
  });
});
