import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWorkflowUrl, partsOfUrl, workflowName } from './workflow-name.js';

test('a workflow is named after the last part of its path', () => {
  assert.equal(workflowName('https://shop.example/api/order'), 'order');
  assert.equal(workflowName('https://shop.example/api/order/?region=eu'), 'order');
  assert.equal(workflowName('worker://shop/order'), 'order');
  assert.equal(workflowName('https://shop.example/caf%C3%A9'), 'caf\u00e9');
});

test('a URL without a path is named after its host, and an invalid one after itself', () => {
  assert.equal(workflowName('https://shop.example:8080/'), 'shop.example:8080');
  assert.equal(workflowName('https://shop.example/%E0%A4%A'), '%E0%A4%A');
  assert.equal(workflowName('not a URL'), 'not a URL');
});

test('the path and the host of a URL are shown apart', () => {
  assert.deepEqual(partsOfUrl('http://127.0.0.1:3000/order?a=1'), { path: '/order?a=1', host: '127.0.0.1:3000' });
  assert.deepEqual(partsOfUrl('worker://shop/order'), { path: '/order', host: 'worker://shop' });
  assert.deepEqual(partsOfUrl('https://shop.example/'), { path: '', host: 'shop.example' });
});

test('workflows have http, https and worker URLs', () => {
  for (const url of ['http://127.0.0.1:3000/order', ' https://shop.example ', 'worker://shop/order'])
    assert.ok(isWorkflowUrl(url), url);
  for (const url of ['', 'order', 'ftp://shop.example', 'https://']) assert.ok(!isWorkflowUrl(url), url);
});
