import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ALL_CHANGED, changeOf, isAffected, mergeChanges } from './live-changes.js';

const query = { runIds: ['one'], isFinal: (data: unknown) => data === 'ended' };
const hint = (runIds: readonly string[], moreRuns?: true) => changeOf(JSON.stringify({ topics: ['runs'], runIds, moreRuns }));

describe('a live hint', () => {
  test('refetches the queries of its topics only', () => {
    assert.equal(isAffected(hint(['one']), 'runs', undefined, undefined), true);
    assert.equal(isAffected(hint(['one']), 'dlq', undefined, undefined), false);
    assert.equal(isAffected(hint(['one']), 'pages', undefined, undefined), false);
  });

  test('refetches the page of a run only if the run may have changed', () => {
    assert.equal(isAffected(hint(['one']), 'runs', query, 'active'), true);
    assert.equal(isAffected(hint(['two']), 'runs', query, 'active'), false);
    assert.equal(isAffected(hint(['two'], true), 'runs', query, 'active'), true);
  });

  test('never refetches a run that has ended, unless it names the run', () => {
    assert.equal(isAffected(hint(['two'], true), 'runs', query, 'ended'), false);
    assert.equal(isAffected(ALL_CHANGED, 'runs', query, 'ended'), false);
    assert.equal(isAffected(hint(['one']), 'runs', query, 'ended'), true);
    assert.equal(isAffected(ALL_CHANGED, 'runs', query, undefined), true, 'its first response is missing');
  });

  test('refetches what shows a related run that it names', () => {
    const lineage = { ...query, relatedIn: () => ['child'] };
    assert.equal(isAffected(hint(['child']), 'runs', lineage, 'ended'), true);
  });

  test('that cannot be parsed refetches everything', () => {
    for (const data of ['', 'null', '{}', '{"topics":1}']) assert.equal(changeOf(data), ALL_CHANGED);
    assert.equal(changeOf('{"topics":["runs"]}').moreRuns, true);
  });

  test('combines with another one', () => {
    const both = mergeChanges(hint(['one']), changeOf('{"topics":["dlq"],"runIds":["two"]}'));
    assert.deepEqual([[...both.topics], [...both.runIds], both.moreRuns], [['runs', 'dlq'], ['one', 'two'], false]);
    assert.equal(mergeChanges(both, ALL_CHANGED).moreRuns, true);
  });
});
