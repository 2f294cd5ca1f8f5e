/** Decisions of users about a group of dead letters: who works on it, until when it is snoozed, and their notes. */
import { LIMITS } from '../../config/limits.js';
import { type GroupState, type GroupTimes, groupState } from './dead-letter-groups.js';

/** Who made a decision, and when (Unix ms). */
interface TriageDecision {
  readonly at: number;
  readonly by: string;
}

export interface GroupNote extends TriageDecision {
  readonly noteId: string;
  readonly text: string;
}

export interface GroupTriage {
  /** `assignee` is the email of a user. */
  readonly assignment: (TriageDecision & { readonly assignee: string }) | null;
  /** Snooze until `until` (Unix ms). It remains stored after that time, until a user acts on the group. */
  readonly snooze: (TriageDecision & { readonly until: number }) | null;
  /** Notes, oldest first. */
  readonly notes: readonly GroupNote[];
}

export const NO_TRIAGE: GroupTriage = Object.freeze({ assignment: null, snooze: null, notes: [] });

/**
 * A change of a group by a user. `resolve` also acknowledges an unacknowledged group. Null removes the assignment or the
 * snooze.
 */
export type GroupMark = TriageDecision &
  (
    | { readonly kind: 'acknowledge' | 'resolve' }
    | { readonly kind: 'assign'; readonly assignee: string | null }
    | { readonly kind: 'snooze'; readonly until: number | null }
    | { readonly kind: 'add-note'; readonly noteId: string; readonly text: string }
    | { readonly kind: 'delete-note'; readonly noteId: string }
  );

export type TriageRefusal = 'too-many-notes' | 'no-such-note';

/** Returns the triage after the mark. Acknowledging and resolving are decisions too, so they end a snooze. */
export function applyMark(triage: GroupTriage, mark: GroupMark): GroupTriage | TriageRefusal {
  const { at, by } = mark;
  const { notes } = triage;
  switch (mark.kind) {
    case 'acknowledge':
    case 'resolve':
      return { ...triage, snooze: null };
    case 'assign':
      return { ...triage, assignment: mark.assignee === null ? null : { at, by, assignee: mark.assignee } };
    case 'snooze':
      return { ...triage, snooze: mark.until === null ? null : { at, by, until: mark.until } };
    case 'add-note':
      if (notes.length >= LIMITS.maxGroupNotes) return 'too-many-notes';
      return { ...triage, notes: [...notes, { noteId: mark.noteId, at, by, text: mark.text }] };
    case 'delete-note': {
      const remaining = notes.filter(({ noteId }) => noteId !== mark.noteId);
      return remaining.length === notes.length ? 'no-such-note' : { ...triage, notes: remaining };
    }
  }
}

/** A group with the decisions of users about it. */
export interface TriagedGroup extends GroupTimes {
  readonly triage: GroupTriage;
}

/** Returns the snooze of a group. Null if it has none, or if the group regressed after it was snoozed. */
export function snoozeOf({ regressedAt, triage: { snooze } }: TriagedGroup): GroupTriage['snooze'] {
  return snooze && regressedAt !== null && regressedAt > snooze.at ? null : snooze;
}

/**
 * Returns why a group needs attention at `now` (Unix ms): it is regressed or new, or its snooze is over and no user has acted
 * since. Null if it is known or snoozed.
 */
export function attentionFor(group: TriagedGroup, now: number): Exclude<GroupState, 'known'> | 'snooze-ended' | null {
  const snooze = snoozeOf(group);
  if (snooze && now < snooze.until) return null;
  const state = groupState(group, now);
  if (state === 'regressed') return state;
  return snooze ? 'snooze-ended' : state === 'new' ? state : null;
}

/**
 * Number of groups by the reason why they need attention, and number of snoozed groups. `new` and `regressed` exclude snoozed
 * groups. `snooze-ended` contains no regressed group.
 */
export type GroupCounts = Readonly<Record<Exclude<GroupState, 'known'> | 'snooze-ended' | 'snoozed', number>>;

/**
 * Returns the counts at `now` (Unix ms). `countsByState` counts groups by their state alone, which a store reads from an index.
 * `groups` must contain every group that has a snooze, including known groups; others have no effect.
 */
export function countsWithTriage(
  countsByState: Pick<GroupCounts, 'new' | 'regressed'>,
  groups: Iterable<TriagedGroup>,
  now: number,
): GroupCounts {
  const counts = { ...countsByState, 'snooze-ended': 0, snoozed: 0 };
  for (const group of groups) {
    if (snoozeOf(group) === null) continue;
    const state = groupState(group, now);
    const reason = attentionFor(group, now) ?? 'snoozed';
    if (reason === state) continue;
    counts[reason]++;
    if (state !== 'known') counts[state]--;
  }
  return counts;
}

/** Returns how many groups need attention. */
export const needingAttention = (counts: GroupCounts): number => counts.new + counts.regressed + counts['snooze-ended'];
