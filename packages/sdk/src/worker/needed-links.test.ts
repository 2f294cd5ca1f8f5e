import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LinkState, neededLinks } from './needed-links.js';

const state = (more: Partial<LinkState>): LinkState => ({
  ...{ nodes: [], reached: new Set<string>(), directFailures: new Map(), searches: 0 },
  ...more,
});

test('a worker without a connection uses the URL of the server, however often that failed', () => {
  assert.deepEqual(neededLinks(state({ searches: 1_000 })), { direct: [], search: true });
});

test('a worker with a connection to each node needs no other', () => {
  const nodes = [{ nodeId: 'a' }, { nodeId: 'b', url: 'http://b' }];
  assert.deepEqual(neededLinks(state({ nodes, reached: new Set(['a', 'b']) })), { direct: [], search: false });
});

test('a node without an address is looked for through the URL of the server, a limited number of times', () => {
  const nodes = [{ nodeId: 'a' }, { nodeId: 'b' }];
  const reached = new Set(['a']);
  assert.equal(neededLinks(state({ nodes, reached, searches: 7 })).search, true);
  assert.equal(neededLinks(state({ nodes, reached, searches: 8 })).search, false);
});

test('a node whose address fails is also looked for through the URL of the server', () => {
  const nodes = [{ nodeId: 'a' }, { nodeId: 'b', url: 'http://b' }];
  const reached = new Set(['a']);
  const direct = [{ nodeId: 'b', url: 'http://b' }];
  assert.deepEqual(neededLinks(state({ nodes, reached, directFailures: new Map([['b', 2]]) })), { direct, search: false });
  assert.deepEqual(neededLinks(state({ nodes, reached, directFailures: new Map([['b', 3]]) })), { direct, search: true });
});
