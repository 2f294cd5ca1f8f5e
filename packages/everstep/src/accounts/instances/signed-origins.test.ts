import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { QueueInstance } from '../../ports/stores/account-store.js';
import { isSignedOrigin, readSignedOrigin } from './signed-origins.js';

const instance = (origins: Pick<QueueInstance, 'signedOrigins' | 'workflowOrigins'>): QueueInstance => ({
  instanceId: 'qi_1',
  region: 'eu-central-1',
  name: 'test',
  createdAt: 0,
  currentSigningKey: 'sig_current',
  nextSigningKey: 'sig_next',
  ...origins,
});

test('origins are normalized, and other texts are invalid', () => {
  const origins = {
    'https://App.Example.com': 'https://app.example.com',
    'HTTPS://app.example.com:443/': 'https://app.example.com',
    'http://127.0.0.1:3000': 'http://127.0.0.1:3000',
    'http://[::1]:3000': 'http://[::1]:3000',
    'https://bücher.example': 'https://xn--bcher-kva.example',
    'https://*.Example.com:8443': 'https://*.example.com:8443',
    '*': '*',
  };
  for (const [text, origin] of Object.entries(origins)) assert.equal(readSignedOrigin(text), origin, text);
  for (const text of [
    '',
    'example.com',
    'ftp://a.test',
    'https://',
    'https://*',
    'https://*.',
    'https://a.*.test',
    'https://a*b.test',
  ])
    assert.equal(readSignedOrigin(text), null, text);
  for (const text of [
    'https://a.test/path',
    'https://a.test?x',
    'https://u@a.test',
    '**',
    '*.a.test',
    'https://a .test',
    'https://a:b',
  ])
    assert.equal(readSignedOrigin(text), null, text);
});

test('without a workflow or a setting, messages to every origin use the signing keys', () => {
  assert.equal(isSignedOrigin(instance({}), 'https://anybody.test'), true);
});

test('with a workflow, only its host does on every port, and every loopback address if the workflow uses one', () => {
  const known = instance({ workflowOrigins: ['https://app.test:3000'] });
  for (const own of ['https://app.test', 'https://app.test:3000', 'https://app.test:8443'])
    assert.equal(isSignedOrigin(known, own), true, own);
  for (const other of ['http://app.test:3000', 'https://api.app.test:3000', 'http://localhost:3000'])
    assert.equal(isSignedOrigin(known, other), false, other);
  const local = instance({ workflowOrigins: ['http://127.0.0.1:3000'] });
  for (const own of ['http://localhost:4000', 'http://[::1]:3000', 'http://127.0.0.2', 'http://api.localhost:1'])
    assert.equal(isSignedOrigin(local, own), true, own);
  for (const other of ['http://localhost.evil.test', 'http://127.evil.test', 'https://localhost:3000'])
    assert.equal(isSignedOrigin(local, other), false, other);
});

test('with a setting, exactly those origins and the workflow origins do', () => {
  const known = instance({ workflowOrigins: ['https://app.test'], signedOrigins: [] });
  assert.equal(isSignedOrigin(known, 'https://app.test'), true);
  for (const other of [
    'http://app.test',
    'https://app.test:8443',
    'https://api.app.test',
    'https://app.test.evil',
    'https://evil.test',
  ])
    assert.equal(isSignedOrigin(known, other), false, other);
  const set = instance({ workflowOrigins: ['https://app.test'], signedOrigins: ['https://api.test', 'https://*.in.test:8443'] });
  for (const own of ['https://app.test', 'https://api.test', 'https://a.in.test:8443', 'https://a.b.in.test:8443'])
    assert.equal(isSignedOrigin(set, own), true, own);
  for (const other of [
    'https://in.test:8443',
    'https://a.in.test',
    'http://a.in.test:8443',
    'https://evilin.test:8443',
    'https://evil.test',
  ])
    assert.equal(isSignedOrigin(set, other), false, other);
});

test('an empty list allows only workflow origins, and a star allows all', () => {
  assert.equal(isSignedOrigin(instance({ signedOrigins: [] }), 'https://anybody.test'), false);
  assert.equal(
    isSignedOrigin(instance({ signedOrigins: ['*'], workflowOrigins: ['https://app.test'] }), 'https://evil.test'),
    true,
  );
});
