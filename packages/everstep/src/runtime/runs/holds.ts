/**
 * What a worker holds of a run, as far as the service relies on it. The service relies only on entries that it has recorded:
 * those that it sent, and the result that it recorded out of the worker's own reply as the entry right behind them. So a
 * result that came and was not recorded is never taken for held, whatever the worker says it holds.
 * Keeps invariant 4.
 */
import { EMPTY_JOURNAL_DIGEST, extendJournalDigest, type JournalEntry, type StepReply } from '@everstep/sdk/protocol';
import type { Decision } from '../../engine/runs/decision.js';

/** A prefix of the recorded journal. */
export interface JournalMark {
  readonly length: number;
  readonly digest: number;
}

/** A live execution in a worker that has applied that prefix. */
export interface HeldJournal extends JournalMark {
  readonly worker: string;
}

/** What is known about the worker of a run. */
export interface HoldState {
  /** The worker that holds the run, and the recorded entries that it is known to hold. */
  hold: HeldJournal | null;
  /** The longest prefix of the recorded journal whose digest was computed. */
  digested: JournalMark;
}

export const EMPTY_JOURNAL: JournalMark = { length: 0, digest: EMPTY_JOURNAL_DIGEST };

/** Returns the mark behind `entries`, which come right after `mark`. */
export function markBehind(mark: JournalMark, entries: readonly Pick<JournalEntry, 'stepId' | 'out'>[]): JournalMark {
  return { length: mark.length + entries.length, digest: entries.reduce(extendJournalDigest, mark.digest) };
}

/** Remembers the digest of the longest prefix that was computed, so that no entry is digested twice. */
export function noteDigest(entry: HoldState, mark: JournalMark): void {
  if (mark.length > entry.digested.length) entry.digested = mark;
}

/**
 * Takes the hold of a reply to a request with `sent`. To be called when the decision on that reply is durable, and only for
 * the state that the request was built from. Replies of parallel steps come in any order; the furthest counts.
 */
export function noteHold(entry: HoldState, reply: StepReply, sent: JournalMark, decision: Decision): void {
  const hold = reply.kind === 'progress' || reply.kind === 'failed' ? reply.hold : undefined;
  if (!hold || hold.through < sent.length) {
    entry.hold = null;
    return;
  }
  let mark = sent;
  // What the worker ran on with is the result that it reports, if that was recorded right behind what it was sent.
  const most = reply.kind === 'progress' && reply.advanced ? Math.min(hold.through, sent.length + reply.done.length) : 0;
  for (const write of decision.writes) {
    if (write.kind !== 'record-step' || write.step.index !== mark.length || mark.length >= most) continue;
    const { stepId, out } = write.step;
    mark = markBehind(mark, [{ stepId, ...(out === null ? {} : { out }) }]);
  }
  noteDigest(entry, mark);
  if (entry.hold?.worker === hold.worker && entry.hold.length >= mark.length) return;
  entry.hold = { worker: hold.worker, ...mark };
}
