import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GroupChanges, groupState, histogramOf, hourOf, NEW_FOR_MS } from './dead-letter-groups.js';
import { groupOf } from './fingerprint.js';

const T0 = Date.UTC(2026, 10, 21, 12, 30);
const HOUR_MS = 3_600_000;

describe('a group is', () => {
  const times = { firstSeenAt: T0, acknowledgedAt: null, regressedAt: null };

  test('new for 24 hours, and known after that', () => {
    assert.equal(groupState(times, T0), 'new');
    assert.equal(groupState(times, T0 + NEW_FOR_MS - 1), 'new');
    assert.equal(groupState(times, T0 + NEW_FOR_MS), 'known');
  });

  test('known once it is acknowledged, however recent', () => {
    assert.equal(groupState({ ...times, acknowledgedAt: T0 }, T0), 'known');
  });

  test('regressed whatever its age, even if it was acknowledged before', () => {
    const regressed = { ...times, acknowledgedAt: T0 + 1, regressedAt: T0 + 2 };
    assert.equal(groupState(regressed, T0 + 2), 'regressed');
    assert.equal(groupState(regressed, T0 + 9 * NEW_FOR_MS), 'regressed');
  });

  test('new if a clock was set back to a time before its first entry', () => {
    assert.equal(groupState(times, T0 - 1), 'new');
  });
});

test('a histogram has the last 24 hours, with zeros, ending with the current hour', () => {
  const hour = hourOf(T0);
  const histogram = histogramOf(
    [
      { hour: hour - 24, count: 9 },
      { hour: hour - 23, count: 1 },
      { hour, count: 5 },
      { hour: hour + 1, count: 9 },
    ],
    T0,
  );
  assert.equal(histogram.length, 24);
  assert.deepEqual(histogram[0], { at: (hour - 23) * HOUR_MS, count: 1 });
  assert.deepEqual(histogram[23], { at: hour * HOUR_MS, count: 5 });
  assert.deepEqual(histogram[22], { at: (hour - 1) * HOUR_MS, count: 0 });
});

describe('the changes of a batch', () => {
  const group = (message: string, workflowUrl = 'https://app.test/a') =>
    groupOf({ kind: 'workflow', workflowUrl, stepName: null, status: 500, cause: 'step', message });

  test('are summed by group, workflow and hour, and returned in a fixed order', () => {
    const changes = new GroupChanges();
    assert.equal(changes.hasChanges, false);
    for (const instanceId of ['b', 'a'])
      for (const message of ['one', 'two', 'one']) changes.addEntry(instanceId, group(message), 500, T0 + HOUR_MS);
    changes.addEntry('a', group('one', 'https://app.test/b'), 500, T0);
    const { groups, workflows, hours } = changes.take();
    const keys = groups.map(({ instanceId, fingerprint }) => instanceId + fingerprint);
    assert.deepEqual(keys, keys.toSorted());
    const one = groups.find(({ instanceId, properties }) => instanceId === 'a' && properties?.message === 'one');
    assert.deepEqual([one?.added, one?.removed, one?.firstAt, one?.lastAt], [3, 0, T0, T0 + HOUR_MS]);
    const ofOne = <Each extends { instanceId: string; fingerprint: string }>(all: readonly Each[]) =>
      all.filter(({ instanceId, fingerprint }) => instanceId === 'a' && fingerprint === one?.fingerprint);
    assert.deepEqual(
      ofOne(workflows).map(({ workflowUrl, entries }) => [workflowUrl, entries]),
      [
        ['https://app.test/a', 2],
        ['https://app.test/b', 1],
      ],
    );
    assert.deepEqual(
      ofOne(hours).map(({ hour, added }) => [hour, added]),
      [
        [hourOf(T0), 1],
        [hourOf(T0) + 1, 2],
      ],
    );
    assert.equal(changes.hasChanges, false);
  });

  test('report how the last entry was removed, and omit entries that were added and removed in the batch', () => {
    const changes = new GroupChanges();
    changes.addEntry('a', group('one'), null, T0);
    changes.removeEntry('a', group('one'), null);
    changes.removeEntry('a', group('two'), T0 + 1);
    changes.removeEntry('a', group('two'), null);
    changes.removeEntry('a', group('three'), null);
    changes.removeEntry('a', group('three'), T0 + 2);
    const { groups, workflows } = changes.take();
    const recovered = (message: string) =>
      groups.find(({ fingerprint }) => fingerprint === group(message).fingerprint)?.recoveredAt;
    assert.deepEqual([recovered('one'), recovered('two'), recovered('three')], [null, null, T0 + 2]);
    assert.deepEqual(
      workflows.map(({ entries }) => entries),
      [-2, -2],
    );
  });
});
