import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CliWorld } from '../../testing/cli-world.js';

describe('commands for plain messages', () => {
  let world: CliWorld;
  const taken: string[] = [];
  before(async () => {
    world = await CliWorld.open(() => async (request, response) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const down = request.url === '/down';
      if (!down) taken.push(`${request.method} ${request.url} ${body}`);
      response.writeHead(down ? 503 : 200).end();
    });
  });
  after(() => world.close());
  const idIn = (text: string): string => /^(msg_\S+) to /m.exec(text)?.[1] ?? assert.fail(text);
  /** Polls at most 500 times. */
  const until = async (args: readonly string[], words: RegExp): Promise<string> => {
    for (let turn = 0; ; turn++) {
      const text = await world.textOf(...args);
      if (words.test(text)) return text;
      assert.ok(turn < 500, text);
    }
  };

  test('a message is sent and listed after its delivery', async () => {
    const sent = await world.textOf('messages', 'send', `${world.appUrl}/hook`, '--body', '{"order":1}', '--method', 'PUT');
    const id = idIn(sent);
    const text = await until(['messages', 'list', '--id', id], /DELIVERED/);
    assert.match(text, new RegExp(`DELIVERED +${id} +${world.appUrl}/hook`));
    assert.deepEqual(taken, ['PUT /hook {"order":1}']);
    const { logs } = await world.jsonOf('messages', 'list', '--id', id, '--state', 'DELIVERED');
    assert.deepEqual([logs.length, logs[0].messageId], [1, id]);
    const states = async (...args: readonly string[]): Promise<string[]> =>
      (await world.jsonOf('messages', 'list', '--id', id, ...args)).logs.map(({ state }: { state: string }) => state);
    assert.deepEqual(await states('--oldest-first'), (await states()).reverse());
    assert.match(await world.textOf('messages', 'list', '--to', 'http://unused.test/'), /^No matching message events\.$/m);
  });

  test('a pending message is shown and canceled; a missing message is not found', async () => {
    const id = idIn(await world.textOf('messages', 'send', `${world.appUrl}/later`, '--body', 'text', '--delay', '1h'));
    assert.equal(JSON.parse(await world.textOf('messages', 'get', id)).messageId, id);
    assert.equal(await world.textOf('messages', 'cancel', id), `${id} canceled\n`);
    assert.equal((await world.everstep('messages', 'cancel', 'msg_none')).code, 3);
    assert.equal((await world.everstep('messages', 'get', 'msg_none')).code, 3);
  });

  test('queues are created, paused, resumed and deleted', async () => {
    assert.equal(await world.textOf('queues', 'list'), 'No queues.\n');
    assert.equal(await world.textOf('queues', 'set', 'mail', '--parallelism', '2'), 'mail has parallelism 2\n');
    assert.equal(await world.textOf('queues', 'pause', 'mail'), 'mail paused\n');
    await world.textOf('messages', 'send', `${world.appUrl}/mail`, '--queue', 'mail', '--body', 'one');
    await until(['queues', 'list'], /^mail +paused +1 +2 /m);
    assert.equal(await world.textOf('queues', 'resume', 'mail'), 'mail resumed\n');
    await until(['messages', 'list', '--queue', 'mail'], /DELIVERED .* queue mail/);
    assert.equal(await world.textOf('queues', 'delete', 'mail'), 'mail deleted\n');
    assert.equal((await world.everstep('queues', 'pause', 'none')).code, 3);
  });

  test('a message to a URL group is sent to each of its endpoints', async () => {
    for (const name of ['a', 'b']) await world.textOf('url-groups', 'add', 'partners', `${world.appUrl}/${name}`, '--name', name);
    const sent = await world.textOf('messages', 'send', 'partners', '--body', '1');
    assert.equal(sent.trim().split('\n').length, 2);
    await until(['messages', 'list', '--group', 'partners', '--state', 'DELIVERED'], /\/a[\s\S]*\/b|\/b[\s\S]*\/a/);
    await world.textOf('url-groups', 'remove', 'partners', `${world.appUrl}/a`);
    const text = await world.textOf('url-groups', 'list');
    assert.ok(text.includes(`${world.appUrl}/b`) && !text.includes(`${world.appUrl}/a`), text);
    assert.equal(await world.textOf('url-groups', 'delete', 'partners'), 'partners deleted\n');
    assert.equal(await world.textOf('url-groups', 'list'), 'No URL groups.\n');
  });
});
