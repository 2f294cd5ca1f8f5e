import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LinkState, neededLinks } from './needed-links.js';

const state = (more: Partial<LinkState>): LinkState => ({
  ...{ nodes: [], reachedNodeIds: new Set<string>(), directFailures: new Map(), searchCount: 0 },
  ...more,
});

test('a worker without a connection uses the URL of the server, however often that failed', () => {
  assert.deepEqual(neededLinks(state({ searchCount: 1_000 })), { direct: [], needsSearch: true });
});

test('a worker with a connection to each node needs no other', () => {
  const nodes = [{ nodeId: 'a' }, { nodeId: 'b', url: 'http://b' }];
  assert.deepEqual(neededLinks(state({ nodes, reachedNodeIds: new Set(['a', 'b']) })), { direct: [], needsSearch: false });
});

test('a node without an address is looked for through the URL of the server, a limited number of times', () => {
  const nodes = [{ nodeId: 'a' }, { nodeId: 'b' }];
  const reached = new Set(['a']);
  assert.equal(neededLinks(state({ nodes, reachedNodeIds: reached, searchCount: 7 })).needsSearch, true);
  assert.equal(neededLinks(state({ nodes, reachedNodeIds: reached, searchCount: 8 })).needsSearch, false);
});

test('a node whose address fails is also looked for through the URL of the server', () => {
  const nodes = [{ nodeId: 'a' }, { nodeId: 'b', url: 'http://b' }];
  const reached = new Set(['a']);
  const direct = [{ nodeId: 'b', url: 'http://b' }];
  assert.deepEqual(neededLinks(state({ nodes, reachedNodeIds: reached, directFailures: new Map([['b', 2]]) })), {
    direct,
    needsSearch: false,
  });
  assert.deepEqual(neededLinks(state({ nodes, reachedNodeIds: reached, directFailures: new Map([['b', 3]]) })), {
    direct,
    needsSearch: true,
  });
});
