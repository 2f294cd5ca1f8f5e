/** The calls of a run that are signed with the keys of its instance. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { progress, ScriptedCaller, ScriptedSender, settle, withRuntime } from '../../runtime.fixture.js';

const callTo = (url: string) =>
  new ScriptedCaller(({ request }) => {
    if (request.journal.length > 0) return progress(request, { end: { kind: 'finished' } });
    const call = { url, method: 'POST', headers: {} };
    return progress(request, { planned: [{ stepId: 1, name: 'c', type: 'Call', call }] });
  });

test('a call is signed if and only if it goes to the origin of the workflow', async () => {
  const calls: readonly (readonly [url: string, signed: boolean])[] = [
    ['http://app/other', true],
    ['HTTP://APP:80/x?y=1', true],
    ['https://app/other', false],
    ['http://app:8080/', false],
    ['http://app.test/', false],
    ['http://www.app/', false],
    ['http://app@api.test/', false],
    ['http://api.test/?http://app/', false],
  ];
  for (const [url, signed] of calls) {
    const sender = new ScriptedSender(() => ({ kind: 'response', status: 200, headers: {}, body: Buffer.from('') }));
    await withRuntime(
      callTo(url),
      async (bench) => {
        await bench.trigger({ workflowUrl: 'http://app/flow' });
        await settle();
        assert.deepEqual(
          sender.sent.map((message) => [message.url, message.signed]),
          [[url, signed ? { kind: 'call', isOwn: true } : null]],
        );
      },
      { sender },
    );
  }
});
