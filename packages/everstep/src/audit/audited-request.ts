/**
 * The audit log entry of the request being handled. It follows the request through asynchronous calls. The first unit of writes
 * of the request includes it, whichever part of the server makes that unit. Operations only declare that they are audited.
 * Keeps invariant 46.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { AuditNote, AuditRequest, CommitUnit, StoreWrite } from '../engine/writes.js';

/** Facts from the operation's declaration and the request, known before the operation runs. */
export interface AuditedFacts {
  /** Entry of the request; null: the operation is not audited. Entries that it makes itself are still marked with the request. */
  readonly entry: AuditNote | null;
  readonly request: AuditRequest;
  /** Whether a unit of writes may include the entry. False for bulk actions, whose counts are known only at the end. */
  readonly withChange: boolean;
}

export class AuditedRequest {
  private readonly facts: AuditedFacts;
  private state: 'open' | 'taken' | 'recorded' | 'closed' = 'open';

  constructor(facts: AuditedFacts) {
    this.facts = facts;
  }

  /** Returns the entry if no unit includes it yet. It must be written with the unit. */
  take(unit: CommitUnit): AuditNote | null {
    const { entry, withChange } = this.facts;
    if (!entry || !withChange || this.state !== 'open' || unit.writes.length === 0) return null;
    this.state = 'taken';
    return entry.subject === '' ? { ...entry, subject: subjectOf(unit.writes) } : entry;
  }

  /** Notes whether the unit with the entry was written. */
  settle(applied: boolean): void {
    if (this.state === 'taken') this.state = applied ? 'recorded' : 'open';
  }

  /** Marks an entry that a part of the server made itself with the request. It replaces the declared entry. */
  mark(entry: AuditNote): AuditNote {
    if (this.state === 'closed') return entry;
    this.state = 'recorded';
    return { ...entry, request: this.facts.request };
  }

  /** Returns the entry that must still be written after the request succeeded; null if there is none. */
  close(): AuditNote | null {
    const { state } = this;
    this.state = 'closed';
    return state === 'open' ? this.facts.entry : null;
  }
}

/** Returns the id of what a unit creates, if the request does not contain it. */
function subjectOf(writes: readonly StoreWrite[]): string {
  for (const write of writes) {
    if (write.kind === 'put-schedule') return write.schedule.scheduleId;
    if (write.kind === 'put-queue') return write.queue.name;
  }
  return '';
}

const requests = new AsyncLocalStorage<AuditedRequest>();

/** Runs the work. Units of writes and entries made by it belong to the request. */
export const runAudited = <Result>(request: AuditedRequest, work: () => Result): Result => requests.run(request, work);

/** Marks the entry with the request being handled, if there is one. */
export const markWithRequest = (entry: AuditNote): AuditNote => requests.getStore()?.mark(entry) ?? entry;

/** A unit with the entry of the request that submits it. */
export interface AuditedUnit {
  readonly unit: CommitUnit;
  readonly settle: (applied: boolean) => void;
}

const noop = (): void => {};

/** Adds the entry of the request being handled, if there is one that no unit includes yet. */
export function addRequestEntry(unit: CommitUnit): AuditedUnit {
  const request = requests.getStore();
  const entry = request?.take(unit);
  if (!request || !entry) return { unit, settle: noop };
  const writes: readonly StoreWrite[] = [...unit.writes, { kind: 'add-audit', entry }];
  return { unit: { ...unit, writes }, settle: (applied) => request.settle(applied) };
}
