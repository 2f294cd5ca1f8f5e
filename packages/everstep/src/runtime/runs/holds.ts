/**
 * The part of a run that a worker holds, as far as the server relies on it. The server relies only on entries that it has
 * recorded: those that it sent, and the results that it recorded from the worker's own reply as the entries directly after
 * them. A result that was received but not recorded therefore never counts as held, whatever the worker reports.
 *
 * Keeps invariant 4.
 */
import { EMPTY_JOURNAL_DIGEST, extendJournalDigest, type JournalEntry, type StepReply } from '@everstep/sdk/protocol';
import type { Decision } from '../../engine/runs/decision.js';

/** A prefix of the recorded journal. */
export interface JournalPrefix {
  readonly length: number;
  readonly digest: number;
}

/** An execution in a worker that has applied the prefix. */
export interface HeldJournal extends JournalPrefix {
  readonly worker: string;
}

/** What the server knows about the worker of a run. */
export interface HoldState {
  /** The worker that holds the run, and the recorded entries that it is known to hold. */
  hold: HeldJournal | null;
  /** The longest prefix of the recorded journal whose digest was computed. */
  digestedPrefix: JournalPrefix;
}

export const EMPTY_JOURNAL: JournalPrefix = { length: 0, digest: EMPTY_JOURNAL_DIGEST };

/** Returns the mark after `entries`, which follow directly after `mark`. */
export function extendPrefix(mark: JournalPrefix, entries: readonly Pick<JournalEntry, 'stepId' | 'out'>[]): JournalPrefix {
  return { length: mark.length + entries.length, digest: entries.reduce(extendJournalDigest, mark.digest) };
}

/** Stores the digest of the longest prefix for which it was computed, so that no entry is digested twice. */
export function recordDigest(entry: HoldState, mark: JournalPrefix): void {
  if (mark.length > entry.digestedPrefix.length) entry.digestedPrefix = mark;
}

/**
 * Records what the worker holds after its reply to a request with the entries up to `sentMark`. Call it when the decision on that
 * reply is durable, and only for the state from which the request was built. Replies of parallel steps arrive in any order; the
 * longest prefix counts.
 */
export function recordHold(entry: HoldState, reply: StepReply, sentMark: JournalPrefix, decision: Decision): void {
  if ((reply.kind !== 'progress' && reply.kind !== 'failed') || !reply.hold || reply.hold.through < sentMark.length) {
    entry.hold = null;
    return;
  }
  const { hold } = reply;
  let mark = sentMark;
  // The worker continued with the results that it reports, if they were recorded directly after the entries that it was sent.
  // A step that failed after them was requested with all of them.
  const hasContinued = reply.kind === 'failed' || reply.advanced;
  const maxLength = hasContinued ? Math.min(hold.through, sentMark.length + reply.done.length) : 0;
  for (const write of decision.writes) {
    if (write.kind !== 'record-step' || write.step.index !== mark.length || mark.length >= maxLength) continue;
    const { stepId, out } = write.step;
    mark = extendPrefix(mark, [{ stepId, ...(out === null ? {} : { out }) }]);
  }
  recordDigest(entry, mark);
  if (entry.hold?.worker === hold.worker && entry.hold.length >= mark.length) return;
  entry.hold = { worker: hold.worker, ...mark };
}
