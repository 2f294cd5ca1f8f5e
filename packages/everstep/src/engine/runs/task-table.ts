/**
 * The open tasks of a run, by slot, in the order of the slots. A table is immutable for its readers. A decision
 * changes a copy that shares all unchanged parts, so one step of ten thousand parallel ones costs no more than one of
 * ten.
 */
import type { Task } from './run.js';

const CHUNK_SLOTS = 32;
/** The lowest slot: that of the failure callback. */
const FIRST_SLOT = -1;

interface Chunk {
  readonly owner: object;
  readonly tasks: (Task | undefined)[];
  count: number;
}

const chunkIndexOf = (slot: number): number => Math.floor((slot - FIRST_SLOT) / CHUNK_SLOTS);
const offsetOf = (slot: number): number => (slot - FIRST_SLOT) % CHUNK_SLOTS;

export class TaskTable implements ReadonlyMap<number, Task> {
  private chunks: (Chunk | undefined)[];
  private count: number;
  /** Identifies the chunks that this table may change. */
  private readonly owner = {};
  private isShared = false;

  private constructor(chunks: (Chunk | undefined)[], count: number) {
    this.chunks = chunks;
    this.count = count;
  }

  /** Returns a separate table with these tasks. If they are already a table, the copy shares all unchanged parts. */
  static from(tasks: ReadonlyMap<number, Task>): TaskTable {
    if (tasks instanceof TaskTable) {
      const copy = new TaskTable(tasks.chunks, tasks.count);
      copy.isShared = true;
      return copy;
    }
    const table = new TaskTable([], 0);
    for (const task of tasks.values()) table.put(task);
    return table;
  }

  get size(): number {
    return this.count;
  }

  get(slot: number): Task | undefined {
    return slot < FIRST_SLOT ? undefined : this.chunks[chunkIndexOf(slot)]?.tasks[offsetOf(slot)];
  }

  has(slot: number): boolean {
    return this.get(slot) !== undefined;
  }

  /** Inserts the task, or replaces the one in its slot. */
  put(task: Task): void {
    const chunk = this.ownChunk(chunkIndexOf(task.slot));
    const offset = offsetOf(task.slot);
    if (chunk.tasks[offset] === undefined) {
      chunk.count++;
      this.count++;
    }
    chunk.tasks[offset] = task;
  }

  /** Deletes the task in the slot. Returns false if there is none. */
  delete(slot: number): boolean {
    if (!this.has(slot)) return false;
    const index = chunkIndexOf(slot);
    const chunk = this.ownChunk(index);
    chunk.tasks[offsetOf(slot)] = undefined;
    chunk.count--;
    this.count--;
    if (chunk.count === 0) this.chunks[index] = undefined;
    return true;
  }

  clear(): void {
    this.chunks = [];
    this.isShared = false;
    this.count = 0;
  }

  *values(): MapIterator<Task> {
    for (const chunk of this.chunks) {
      if (!chunk) continue;
      // A chunk can be replaced while it is read. The iteration continues with the old one.
      for (const task of chunk.tasks) if (task) yield task;
    }
  }

  *keys(): MapIterator<number> {
    for (const { slot } of this.values()) yield slot;
  }

  *entries(): MapIterator<[number, Task]> {
    for (const task of this.values()) yield [task.slot, task];
  }

  [Symbol.iterator](): MapIterator<[number, Task]> {
    return this.entries();
  }

  forEach(callback: (task: Task, slot: number, map: ReadonlyMap<number, Task>) => void): void {
    for (const task of this.values()) callback(task, task.slot, this);
  }

  private ownChunk(index: number): Chunk {
    if (this.isShared) {
      this.chunks = [...this.chunks];
      this.isShared = false;
    }
    const existing = this.chunks[index];
    if (existing?.owner === this.owner) return existing;
    const copy: Chunk = { owner: this.owner, tasks: existing ? [...existing.tasks] : [], count: existing?.count ?? 0 };
    this.chunks[index] = copy;
    return copy;
  }
}
