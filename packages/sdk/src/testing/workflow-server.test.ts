import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serve } from '../serve.js';
import { serveWorkflows } from './workflow-server.js';

const done = serve(async () => 'done', { holdRuns: false });

test('each workflow is served at its path, with or without a query', async (t) => {
  const server = await serveWorkflows({ '/one': done, '/two': done.endpoint });
  t.after(() => server.stop());
  const { '/one': one, '/two': two } = server.urls;
  assert.match(one, /^http:\/\/127\.0\.0\.1:\d+\/one$/);
  for (const url of [one, two, `${one}?tenant=7`]) {
    const response = await fetch(url, { method: 'POST', body: 'not a step request' });
    assert.equal(response.status, 400, `${url} is handled by the workflow`);
    assert.equal(response.headers.get('svc-workflow-protocol'), '1');
  }
});

test('another path returns 404 and lists the existing paths', async (t) => {
  const server = await serveWorkflows({ '/one': done });
  t.after(() => server.stop());
  const received = await fetch(server.urls['/one'].replace('/one', '/three'), { method: 'POST' });
  assert.equal(received.status, 404);
  assert.match(await received.text(), /Available paths: \/one/);
});

test('a path without a leading slash is rejected', async () => {
  await assert.rejects(serveWorkflows({ order: done }), /must start with a slash, not "order"/);
});

test('stops listening even if a client keeps its connection', async () => {
  const server = await serveWorkflows({ '/one': done });
  await (await fetch(server.urls['/one'], { method: 'POST', body: '{}' })).text();
  await server.stop();
  await assert.rejects(fetch(server.urls['/one'], { method: 'POST' }));
});
