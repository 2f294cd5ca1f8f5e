import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimulatedClock } from '../../clock/testing/simulated-clock.js';
import type { CommitUnit, StoreWrite } from '../../engine/writes.js';
import type { SharedChange } from '../../ports/cluster.js';
import type { LiveHint } from '../../ports/live-hints.js';
import { type HintedRun, LiveChanges } from './live-changes.js';

const unit = (...writes: readonly StoreWrite[]): CommitUnit => ({ guards: [], writes });
const step = (runKey: string) => unit({ kind: 'delete-task', runKey, slot: 1 });
const RUNS: Readonly<Record<string, HintedRun>> = {
  r1: { instanceId: 'qi_1', workflowRunId: 'one', isLimited: false },
  r2: { instanceId: 'qi_2', workflowRunId: 'two', isLimited: true },
};
/** End of the keys of runs whose id is their key. */
const LONG = 'x'.repeat(250);
const runOf = (runKey: string): HintedRun | undefined =>
  runKey.endsWith(LONG) ? { instanceId: 'qi_1', workflowRunId: runKey, isLimited: false } : RUNS[runKey];

/** Returns nodes that receive each other's notices immediately. */
function nodes(count: number, clock = new SimulatedClock(0)) {
  const notices: SharedChange[] = [];
  const all: LiveChanges[] = [];
  for (let n = 0; n < count; n++) {
    const notify = (change: SharedChange): void => {
      notices.push(change);
      for (const [other, node] of all.entries()) {
        if (other === n) continue;
        if (change.kind === 'live-wanted') node.recordWantedElsewhere(change.instanceIds);
        if (change.kind === 'live') node.notifyListeners(change.instanceId, change);
      }
    };
    all.push(new LiveChanges({ clock, cluster: { notify }, runOf }));
  }
  return { all, clock, notices, of: (n: number) => all[n] ?? assert.fail() };
}

function watch(node: LiveChanges, instanceId: string) {
  const hints: LiveHint[] = [];
  return { hints, end: node.watch(instanceId, (hint) => hints.push(hint)) };
}

test('no hints are wanted without a stream', () => {
  const live = new LiveChanges({ clock: new SimulatedClock(0), cluster: null, runOf });
  assert.equal(live.isWanted, false);
  const { end } = watch(live, 'qi_1');
  assert.equal(live.isWanted, true);
  end();
  assert.equal(live.isWanted, false);
});

test('a unit is published to the streams of its instance, with its topics', () => {
  const live = new LiveChanges({ clock: new SimulatedClock(0), cluster: null, runOf });
  const [one, two] = [watch(live, 'qi_1'), watch(live, 'qi_2')];
  live.onCommitted([step('r1'), step('r1')]);
  assert.deepEqual(one.hints.splice(0), [{ topics: ['runs'], runIds: ['one'] }]);
  assert.deepEqual(two.hints, []);
  const hold: StoreWrite = { kind: 'set-hold', instanceId: 'qi_2', origin: 'http://w.test', hold: null, by: 'hand' };
  const taken: StoreWrite = { kind: 'take-dead-letter', instanceId: 'qi_2', dlqId: 'd', recoveredAs: null };
  live.onCommitted([unit(hold), step('r2'), unit(taken)]);
  assert.deepEqual(two.hints.splice(0), [{ topics: ['settings', 'runs', 'flow-control', 'dlq'], runIds: ['two'] }]);
  live.changed('qi_1', 'repairs');
  assert.deepEqual(one.hints.splice(0), [{ topics: ['repairs'], runIds: [] }]);
  live.onCommitted([unit({ kind: 'count-messages', instanceId: 'qi_1', messages: 1, at: 0 })]);
  assert.deepEqual([one.hints, two.hints], [[], []]);
});

test('a change to an unknown run is published to all streams, without its id', () => {
  const live = new LiveChanges({ clock: new SimulatedClock(0), cluster: null, runOf });
  const [one, two] = [watch(live, 'qi_1'), watch(live, 'qi_2')];
  live.onCommitted([step('unknown')]);
  for (const { hints } of [one, two]) assert.deepEqual(hints, [{ topics: ['runs'], runIds: [], moreRuns: true }]);
});

test('a change on another node arrives within a quarter of a second, in one notice, while a stream is open', () => {
  const { of, clock, notices } = nodes(2);
  of(0).onCommitted([step('r1')]);
  assert.deepEqual(notices, [], 'no stream is open');
  const { hints } = watch(of(1), 'qi_1');
  assert.deepEqual(notices.splice(0), [{ kind: 'live-wanted', instanceIds: ['qi_1'] }]);
  for (let n = 0; n < 100; n++) of(0).onCommitted([step('r1'), step('r2')]);
  assert.deepEqual(hints, []);
  const started = clock.now();
  clock.advance();
  assert.ok(clock.now() - started <= 250);
  assert.deepEqual(notices, [{ kind: 'live', instanceId: 'qi_1', topics: ['runs'], runIds: ['one'] }]);
  assert.deepEqual(hints.length, 1);
});

test('open streams are announced repeatedly, and an announcement expires', () => {
  const { of, clock, notices } = nodes(2);
  const { hints, end } = watch(of(1), 'qi_1');
  while (clock.now() < 60_000) clock.advance();
  const said = notices.filter(({ kind }) => kind === 'live-wanted').length;
  assert.ok(said >= 14 && said <= 17, String(said));
  of(0).onCommitted([step('r1')]);
  while (hints.length === 0) clock.advance();
  end();
  const ended = clock.now();
  // Further writes do not extend the announcement.
  while (clock.now() < ended + 11_000) {
    of(0).onCommitted([step('r1')]);
    if (!clock.advance()) break;
  }
  notices.length = 0;
  of(0).onCommitted([step('r1')]);
  while (clock.advance());
  assert.deepEqual([notices, of(0).isWanted], [[], false]);
});

test('a notice is short even if run ids are long', () => {
  const { all, clock, notices } = nodes(2);
  const [one, two] = all;
  assert.ok(one && two);
  watch(two, 'qi_1');
  notices.length = 0;
  for (let n = 0; n < 50; n++) one.onCommitted([step(`${n}${LONG}`)]);
  clock.advance();
  const [notice] = notices;
  assert.ok(notice?.kind === 'live' && notice.runIds.length > 5 && notice.moreRuns);
  assert.ok(JSON.stringify(notice).length < 6_000);
});

test('after lost notices, a hint says that everything may have changed', () => {
  const live = new LiveChanges({ clock: new SimulatedClock(0), cluster: null, runOf });
  const { hints } = watch(live, 'qi_1');
  live.publishEverything();
  assert.equal(hints[0]?.topics.length, 7);
});
