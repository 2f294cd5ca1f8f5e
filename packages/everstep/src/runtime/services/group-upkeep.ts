/**
 * Groups dead letters that were written by versions without groups or with other rules, and removes expired data of
 * groups. It works in small steps with pauses. If a round does not finish, for example because of a disk error or a stop,
 * the next round continues, because entries without a group are marked.
 */

import { LIMITS } from '../../config/limits.js';
import type { GroupKey } from '../../engine/dead-letters/dead-letter-groups.js';
import { groupOf } from '../../engine/dead-letters/fingerprint.js';
import { detailsOf } from '../../engine/failures/error-details.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { GroupUpkeepStore, RegroupedEntry, UngroupedEntry } from '../../ports/stores/dead-letter-groups.js';
import { errorIn } from '../../responses/reported-error.js';

/** Entries per step, which takes a few ms. */
const ENTRIES_PER_STEP = 100;
const ROWS_PER_STEP = 1_000;
const GROUPS_PER_STEP = 20;
const RECOUNT_EVERY_MS = 24 * 3_600_000;
/** Turns of the event loop between two steps. */
const TURNS_BETWEEN_STEPS = 8;

export interface GroupUpkeepOptions {
  readonly store: { readonly deadLetterGroups: GroupUpkeepStore };
  readonly clock: Clock;
  /** Returns the time of the clock that sets the times of entries, Unix ms. */
  readonly now: () => number;
  readonly log: Log;
  /**
   * Does the work and resolves with true, or resolves with false if another node is doing it. Absent if no other node
   * shares the store.
   */
  readonly tryExclusively?: (work: () => Promise<void>) => Promise<boolean>;
}

/** Returns the group that the entry would have if it failed now, as far as the data is known. */
function regroup(entry: UngroupedEntry): RegroupedEntry {
  const { instanceId, dlqId, fingerprint, kind, workflowUrl, responseStatus, error, attempt, failedBy, responseBody } = entry;
  const reportedError = responseBody && errorIn(responseBody);
  const thrown = failedBy ? failedBy.thrown : reportedError ? detailsOf(reportedError) : undefined;
  const group = groupOf({
    kind,
    workflowUrl,
    stepName: failedBy ? failedBy.stepName : (attempt?.name ?? null),
    status: responseStatus,
    cause: attempt?.cause ?? null,
    message: failedBy?.message ?? attempt?.message ?? error,
    source: thrown?.source,
  });
  return { instanceId, dlqId, fingerprint, group };
}

export class GroupUpkeep {
  private readonly options: GroupUpkeepOptions;
  private cancelTimer: () => void = () => {};
  private currentRound: Promise<void> | null = null;
  private isStopped = false;
  /** Time of the last recount, Unix ms. */
  private recountedAt: number | null = null;

  constructor(options: GroupUpkeepOptions) {
    this.options = options;
  }

  /** Starts a round now and every few minutes. Does not wait for it. */
  start(): void {
    this.workRegularly();
  }

  /** Resolves when the step in progress is done. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancelTimer();
    await this.currentRound;
  }

  /** Whether no round is in progress. */
  get isIdle(): boolean {
    return this.currentRound === null;
  }

  /** Resolves when the round in progress is done. */
  async settled(): Promise<void> {
    await this.currentRound;
  }

  /** Does all pending work, unless another node does. Never rejects. If a round is in progress, waits for it instead. */
  work(): Promise<void> {
    const { tryExclusively, log } = this.options;
    const startWork = tryExclusively ? () => tryExclusively(() => this.groupAll()).then(() => {}) : () => this.groupAll();
    this.currentRound ??= startWork()
      .catch((error: unknown) =>
        log.error({ error: String(error) }, 'dead letter group maintenance failed, retrying within 5 min'),
      )
      .finally(() => {
        this.currentRound = null;
      });
    return this.currentRound;
  }

  private workRegularly(): void {
    if (this.isStopped) return;
    const { clock } = this.options;
    void this.work();
    this.cancelTimer = clock.setTimer(clock.now() + LIMITS.retentionEveryMs, () => this.workRegularly());
  }

  private async groupAll(): Promise<void> {
    const { store, now, log } = this.options;
    const { deadLetterGroups } = store;
    let previousId: string | null = null;
    let count = 0;
    while (!this.isStopped) {
      const entries = await deadLetterGroups.ungrouped({ limit: ENTRIES_PER_STEP });
      const [firstEntry] = entries;
      if (!firstEntry) break;
      if (firstEntry.dlqId === previousId) throw new Error(`the dead letter ${previousId} could not be grouped`);
      previousId = firstEntry.dlqId;
      await deadLetterGroups.group({ entries: entries.map(regroup) });
      count += entries.length;
      await this.yieldToOthers();
    }
    if (count > 0)
      log.info({ entries: count }, 'grouped dead letters that an earlier version of Everstep had left without a group');
    await this.recount();
    while (!this.isStopped && (await deadLetterGroups.tidy({ now: now(), limit: ROWS_PER_STEP })) > 0) await this.yieldToOthers();
  }

  /**
   * Counts the entries of groups again, at the start and once a day: a node with an older version removes entries without
   * counting.
   */
  private async recount(): Promise<void> {
    const { store, now } = this.options;
    if (this.recountedAt !== null && now() - this.recountedAt < RECOUNT_EVERY_MS) return;
    for (let after: GroupKey | null = null; !this.isStopped; await this.yieldToOthers()) {
      after = await store.deadLetterGroups.recount({ after, limit: GROUPS_PER_STEP });
      if (after === null) break;
    }
    this.recountedAt = now();
  }

  private async yieldToOthers(): Promise<void> {
    const { clock } = this.options;
    for (let turn = 0; turn < TURNS_BETWEEN_STEPS && !this.isStopped; turn++) {
      await new Promise<void>((resolve) => clock.endOfTurn(resolve));
    }
  }
}
