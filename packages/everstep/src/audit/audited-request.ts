/**
 * The audit log entry of the request being handled. It follows the request through asynchronous calls. The first unit of writes
 * of the request includes it, whichever part of the server makes that unit. Operations only declare that they are audited.
 * Keeps invariant 46.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { AuditNote, AuditRequest, CommitUnit, StoreWrite } from '../engine/writes.js';

/** Data of an audited request that is available before its operation runs. */
export interface AuditedRequestOptions {
  /** Entry of the request; null if the operation has no entry or writes its own entries, which are marked with the request. */
  readonly entry: AuditNote | null;
  readonly request: AuditRequest;
  /** Whether a unit of writes may include the entry. False for bulk actions, whose counts are known only at the end. */
  readonly isWrittenWithChange: boolean;
}

export class AuditedRequest {
  private readonly facts: AuditedRequestOptions;
  /** State of the entry. */
  private entryState: 'open' | 'taken' | 'recorded' | 'closed' = 'open';

  constructor(facts: AuditedRequestOptions) {
    this.facts = facts;
  }

  /** Returns the entry if no unit includes it yet. The entry must then be written with this unit. */
  take(unit: CommitUnit): AuditNote | null {
    const { entry, isWrittenWithChange } = this.facts;
    if (!entry || !isWrittenWithChange || this.entryState !== 'open' || unit.writes.length === 0) return null;
    this.entryState = 'taken';
    return entry.subject === '' ? { ...entry, subject: subjectOf(unit.writes) } : entry;
  }

  /** Records whether the unit with the entry was written. */
  settle(isApplied: boolean): void {
    if (this.entryState === 'taken') this.entryState = isApplied ? 'recorded' : 'open';
  }

  /** Adds the request to an entry that another part of the server creates. That entry replaces the entry of the request. */
  mark(entry: AuditNote): AuditNote {
    if (this.entryState === 'closed') return entry;
    this.entryState = 'recorded';
    return { ...entry, request: this.facts.request };
  }

  /** Returns the entry that must still be written after the request succeeded; null if there is none. */
  close(): AuditNote | null {
    const { entryState } = this;
    this.entryState = 'closed';
    return entryState === 'open' ? this.facts.entry : null;
  }
}

/** Returns the id of the object that a unit creates; empty for objects whose id is in the request. */
function subjectOf(writes: readonly StoreWrite[]): string {
  for (const write of writes) {
    if (write.kind === 'put-schedule') return write.schedule.scheduleId;
    if (write.kind === 'put-queue') return write.queue.name;
  }
  return '';
}

const currentRequest = new AsyncLocalStorage<AuditedRequest>();

/** Runs the work so that its units of writes and its audit entries belong to the request. */
export const runAudited = <Result>(request: AuditedRequest, work: () => Result): Result => currentRequest.run(request, work);

/** Runs work that other requests also use, or that outlives the request: nothing that it writes belongs to the request. */
export const runOutsideRequest = <Result>(work: () => Result): Result => currentRequest.exit(work);

/** Adds the request being handled to the entry, if there is one. */
export const withRequestDetails = (entry: AuditNote): AuditNote => currentRequest.getStore()?.mark(entry) ?? entry;

/** A unit with the entry of the request that submits it. */
export interface AuditedUnit {
  readonly unit: CommitUnit;
  readonly settle: (isApplied: boolean) => void;
}

const noop = (): void => {};

/** Adds the entry of the request being handled, if there is one that no unit includes yet. */
export function addRequestEntry(unit: CommitUnit): AuditedUnit {
  const request = currentRequest.getStore();
  const entry = request?.take(unit);
  if (!request || !entry) return { unit, settle: noop };
  const writes: readonly StoreWrite[] = [...unit.writes, { kind: 'add-audit', entry }];
  return { unit: { ...unit, writes }, settle: (isApplied) => request.settle(isApplied) };
}
