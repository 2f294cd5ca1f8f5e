import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Task } from './run.js';
import { TaskTable } from './task-table.js';

const task = (slot: number, messageId: string): Task => ({
  kind: 'advance',
  slot,
  messageId,
  dueAt: 0,
  createdAt: 0,
  retried: 0,
});

const change = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), slot: fc.integer({ min: -1, max: 200 }) }),
  fc.record({ kind: fc.constant('delete' as const), slot: fc.integer({ min: -1, max: 200 }) }),
  fc.record({ kind: fc.constant('clear' as const) }),
);

test('a table equals a map in the order of the slots, and its source tables do not change', () => {
  fc.assert(
    fc.property(fc.array(fc.array(change, { maxLength: 30 }), { maxLength: 8 }), (generations) => {
      let table = TaskTable.from(new Map());
      let expected = new Map<number, Task>();
      const past: { readonly table: TaskTable; readonly expected: ReadonlyMap<number, Task> }[] = [];
      let made = 0;
      for (const changes of generations) {
        past.push({ table, expected });
        table = TaskTable.from(table);
        expected = new Map(expected);
        for (const one of changes) {
          if (one.kind === 'clear') {
            table.clear();
            expected.clear();
          } else if (one.kind === 'delete') assert.equal(table.delete(one.slot), expected.delete(one.slot));
          else {
            const put = task(one.slot, `m${made++}`);
            table.put(put);
            expected.set(one.slot, put);
          }
        }
      }
      for (const generation of [...past, { table, expected }]) {
        const inOrder = [...generation.expected].sort(([a], [b]) => a - b);
        assert.deepEqual([...generation.table], inOrder);
        assert.equal(generation.table.size, inOrder.length);
        for (let slot = -1; slot <= 201; slot++) assert.equal(generation.table.get(slot), generation.expected.get(slot));
      }
    }),
  );
});
