/**
 * Evaluates alert rules. A round takes the failures since the last one, opens and ends alerts, and creates the messages of
 * due notices. Rounds run every few seconds while any instance has rules, and soon after a failure. If several nodes share
 * the store, one of them does a round at a time.
 */
import { LIMITS } from '../../config/limits.js';
import { evaluate, type WatchedGroup } from '../../engine/alerts/evaluation.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { AlertStore } from '../../ports/stores/alerts/alert-store.js';
import type { DeadLetterGroupStore } from '../../ports/stores/dead-letter-groups.js';
import type { StoreWritesState } from '../../ports/stores/store-writes.js';
import type { RunStarts } from '../runs/run-starts.js';
import { InstanceTurns } from '../services/instance-turns.js';
import type { AlertSettingsCache } from './known-settings.js';
import type { Notices } from './notices.js';

const HOUR_MS = 3_600_000;

export interface AlertRoundsOptions {
  readonly store: { readonly alerts: AlertStore; readonly deadLetterGroups: Pick<DeadLetterGroupStore, 'find'> };
  readonly settings: AlertSettingsCache;
  readonly notices: Notices;
  readonly context: RunStarts['context'];
  /** Sets the timers of rounds. */
  readonly clock: Clock;
  readonly log: Log;
  /** Reports a change of the alerts of an instance to clients that watch it. */
  readonly changed: (instanceId: string) => void;
  /** While it is closed, there are no rounds. */
  readonly writes: StoreWritesState;
  /** Does the work unless another node is doing it; then it returns false. Absent: no other node shares the store. */
  readonly tryExclusively?: (work: () => Promise<void>) => Promise<boolean>;
}

export class AlertRounds {
  private readonly options: AlertRoundsOptions;
  private cancelTimer: () => void = () => {};
  private nextAt = Number.POSITIVE_INFINITY;
  private working: Promise<void> | null = null;
  private stopped = true;
  private readonly turns = new InstanceTurns();
  /** When ended alerts were last removed. */
  private tidiedAt = Number.NEGATIVE_INFINITY;

  constructor(options: AlertRoundsOptions) {
    this.options = options;
  }

  /** Starts rounds, if any instance has rules. */
  start(): void {
    this.stopped = false;
    this.look();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.cancelTimer();
    await this.working;
  }

  /** Whether no round is in progress. */
  get idle(): boolean {
    return this.working === null;
  }

  /** Resolves when the round in progress is done. */
  async settled(): Promise<void> {
    await this.working;
  }

  /** Does a round soon, because a run has failed or the settings have changed. */
  look(): void {
    // With several nodes, another node may have added the first rules.
    if (this.options.tryExclusively || this.options.settings.watched().length > 0) this.expect(LIMITS.alertRoundDelayMs);
  }

  /** Does a round of the instance now, for example to end the alerts of a deleted rule. Rejects if the store fails. */
  roundOf(instanceId: string): Promise<void> {
    return this.turns.run(instanceId, () => this.evaluate(instanceId));
  }

  private async evaluate(instanceId: string): Promise<void> {
    const { store, settings, notices, context, changed } = this.options;
    const rules = settings.of(instanceId)?.rules ?? [];
    const limit = LIMITS.alertEventsPerStep;
    for (;;) {
      const events = await store.alerts.events({ instanceId, limit });
      const open = await store.alerts.open({ instanceId });
      const wanted = new Set([
        ...events.map(({ fingerprint }) => fingerprint),
        ...open.filter(({ kind }) => kind === 'error-group').map(({ subject }) => subject),
      ]);
      const groups = rules.some(({ condition }) => condition.kind === 'error-group')
        ? await this.groupsOf(instanceId, wanted)
        : new Map<string, WatchedGroup>();
      const changes = evaluate({ rules, open, events, groups }, context());
      if (events.length === 0 && changes.length === 0) break;
      const eventIds = events.map(({ eventId }) => eventId);
      // If another node has done this round, the next one continues from its result.
      if (!(await store.alerts.record({ instanceId, changes, eventIds }))) break;
      if (changes.length > 0) changed(instanceId);
      if (events.length < limit) break;
    }
    await notices.sendDue(instanceId);
  }

  private expect(delayMs: number): void {
    if (this.stopped) return;
    const { clock } = this.options;
    const at = clock.now() + delayMs;
    if (at >= this.nextAt) return;
    this.cancelTimer();
    this.nextAt = at;
    this.cancelTimer = clock.setTimer(at, () => {
      this.nextAt = Number.POSITIVE_INFINITY;
      void this.round();
    });
  }

  private round(): Promise<void> {
    this.working ??= this.allInstances().finally(() => {
      this.working = null;
      if (this.options.tryExclusively || this.options.settings.watched().length > 0) this.expect(LIMITS.alertRoundEveryMs);
    });
    return this.working;
  }

  private async allInstances(): Promise<void> {
    const { settings, writes, log, tryExclusively } = this.options;
    if (!writes.isOpen) return;
    try {
      if (!tryExclusively) return await this.eachInstance();
      // Another node may have changed the settings, and its notice may have been lost.
      await settings.refresh();
      if (settings.watched().length > 0) await tryExclusively(() => this.eachInstance());
    } catch (error) {
      if (!writes.failed(error))
        log.error({ error: String(error) }, 'alert rules could not be evaluated, retrying at the next round');
    }
  }

  private async eachInstance(): Promise<void> {
    const { settings, store, context } = this.options;
    const { now } = context();
    const isTidying = now - this.tidiedAt >= HOUR_MS;
    for (const instanceId of settings.watched()) {
      if (this.stopped) return;
      await this.roundOf(instanceId);
      if (!isTidying) continue;
      await store.alerts.removeEnded({ instanceId, endedBefore: now - LIMITS.endedAlertsKeptMs, limit: LIMITS.maxRemovedAlerts });
    }
    if (isTidying) this.tidiedAt = now;
  }

  private async groupsOf(instanceId: string, fingerprints: ReadonlySet<string>): Promise<ReadonlyMap<string, WatchedGroup>> {
    const { now } = this.options.context();
    const groups = new Map<string, WatchedGroup>();
    for (const fingerprint of fingerprints) {
      const group = await this.options.store.deadLetterGroups.find({ instanceId, fingerprint, now });
      if (group) groups.set(fingerprint, group);
    }
    return groups;
  }
}
