import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { test } from 'node:test';
import { gatherWhenBusy, processorDemand } from './cpu-load.js';

test('batches wait for more units only while the process has been busy for a moment, and not because it was busy long ago', () => {
  let time = 0;
  let wanted = 0;
  let busy = 1;
  let recentUnits = 10;
  const gatherMs = gatherWhenBusy(
    10,
    () => time,
    () => wanted,
  );
  const after = (ms: number): number => {
    time += ms;
    wanted += ms * busy;
    return gatherMs(recentUnits);
  };
  assert.equal(after(99), 0, 'nothing is known yet');
  assert.equal(after(1), 10);
  busy = 0.6;
  assert.equal(after(50), 10, 'the load is measured ten times a second');
  assert.equal(after(50), 0);
  busy = 1;
  assert.equal(after(3_000), 0, 'an old measurement says nothing about the present');
  assert.equal(after(100), 10);
  recentUnits = 9;
  assert.equal(after(100), 0, 'few runs are active, so no other unit would arrive');
  recentUnits = 10;
  busy = Number.NaN;
  assert.equal(after(100), 0, 'the load is unknown');
  [wanted, busy] = [0, 1];
  assert.equal(after(100), 0);
  assert.equal(after(100), 10, 'the load is known again');
});

test('a process is busy while it has a processor and while it waits for one', (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'everstep-busy-'));
  context.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'schedstat');
  writeFileSync(file, '5000000000 2000000000 71\n');
  const wantedMs = processorDemand(file);
  assert.equal(wantedMs(), 7_000);
  writeFileSync(file, '5040000000 2030000000 75\n');
  assert.equal(wantedMs(), 7_070);
  rmSync(file);
  assert.ok(Number.isNaN(wantedMs()), 'the time is unknown if the file cannot be opened');
});

test('if the system does not report the time, the active time of the event loop is used instead', (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'everstep-busy-'));
  context.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'schedstat');
  for (const nothing of [undefined, '', '0 0 0\n']) {
    if (nothing !== undefined) writeFileSync(file, nothing);
    const wantedMs = processorDemand(file);
    const before = performance.eventLoopUtilization().active;
    const told = wantedMs();
    assert.ok(told >= before && told <= performance.eventLoopUtilization().active);
  }
});
