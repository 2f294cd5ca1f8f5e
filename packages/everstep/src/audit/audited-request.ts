/**
 * The entry of the audit log that the request being handled leads to. It follows the request through asynchronous calls, so
 * that the first unit of writes of the request carries it, whichever part of the service makes that unit. Operations only
 * declare that they are audited.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { AuditNote, AuditRequest, CommitUnit, StoreWrite } from '../engine/writes.js';

/** What the declaration of the operation and its request say, before the operation runs. */
export interface AuditedFacts {
  /** Null: the operation is not audited, and only entries that it makes itself are marked with the request. */
  readonly entry: AuditNote | null;
  readonly request: AuditRequest;
  /** Whether a unit of writes may carry the entry. False for bulk actions, whose counts are known at the end. */
  readonly withChange: boolean;
}

export class AuditedRequest {
  private readonly facts: AuditedFacts;
  private state: 'open' | 'taken' | 'recorded' | 'closed' = 'open';

  constructor(facts: AuditedFacts) {
    this.facts = facts;
  }

  /** Returns the entry if nothing carries it yet: the unit is to be written with it. */
  take(unit: CommitUnit): AuditNote | null {
    const { entry, withChange } = this.facts;
    if (!entry || !withChange || this.state !== 'open' || unit.writes.length === 0) return null;
    this.state = 'taken';
    return entry.subject === '' ? { ...entry, subject: subjectOf(unit.writes) } : entry;
  }

  /** `applied`: whether the unit that carried the entry was written. */
  settle(applied: boolean): void {
    if (this.state === 'taken') this.state = applied ? 'recorded' : 'open';
  }

  /** Marks an entry that a part of the service made itself with the request. It takes the place of the declared one. */
  mark(entry: AuditNote): AuditNote {
    if (this.state === 'closed') return entry;
    this.state = 'recorded';
    return { ...entry, request: this.facts.request };
  }

  /** Returns the entry that is still to be written, as the request has succeeded; null if there is none. */
  close(): AuditNote | null {
    const { state } = this;
    this.state = 'closed';
    return state === 'open' ? this.facts.entry : null;
  }
}

/** What a unit creates, where the request does not name it. */
function subjectOf(writes: readonly StoreWrite[]): string {
  for (const write of writes) {
    if (write.kind === 'put-schedule') return write.schedule.scheduleId;
    if (write.kind === 'put-queue') return write.queue.name;
  }
  return '';
}

const requests = new AsyncLocalStorage<AuditedRequest>();

/** Runs the work; units of writes and entries that it makes belong to the request. */
export const runAudited = <Result>(request: AuditedRequest, work: () => Result): Result => requests.run(request, work);

/** Returns the entry, marked with the request being handled if there is one. */
export const ofThisRequest = (entry: AuditNote): AuditNote => requests.getStore()?.mark(entry) ?? entry;

/** A unit with the entry of the request that submits it. */
export interface AuditedUnit {
  readonly unit: CommitUnit;
  readonly settle: (applied: boolean) => void;
}

const nothingToSettle = (): void => {};

/** Adds the entry of the request being handled, if there is one that nothing carries yet. */
export function withEntry(unit: CommitUnit): AuditedUnit {
  const request = requests.getStore();
  const entry = request?.take(unit);
  if (!request || !entry) return { unit, settle: nothingToSettle };
  const writes: readonly StoreWrite[] = [...unit.writes, { kind: 'add-audit', entry }];
  return { unit: { ...unit, writes }, settle: (applied) => request.settle(applied) };
}
