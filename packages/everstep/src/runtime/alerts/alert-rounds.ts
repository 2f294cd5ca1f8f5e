/**
 * Evaluates alert rules. A round takes the failures since the last one, opens and ends alerts, and creates the messages of
 * due notices. Rounds run every few seconds while any instance has rules, and soon after a failure. Once an hour, a full
 * round also evaluates the instances without rules. If several nodes share the store, one of them does a round at a time.
 */
import { LIMITS } from '../../config/limits.js';
import { type AlertRule, isAboutEvents } from '../../engine/alerts/alert-settings.js';
import { evaluate, type Finding, type WatchedGroup } from '../../engine/alerts/evaluation.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { AlertStore } from '../../ports/stores/alerts/alert-store.js';
import type { DeadLetterGroupStore } from '../../ports/stores/dead-letter-groups.js';
import type { StoreWritesState } from '../../ports/stores/store-writes.js';
import type { RunStarts } from '../runs/run-starts.js';
import { InstanceLocks } from '../services/instance-locks.js';
import type { AlertSettingsCache } from './alert-settings-cache.js';
import type { ConditionReader, StoreTrouble } from './conditions.js';
import type { Notices } from './notices.js';

const HOUR_MS = 3_600_000;
/** Slightly shorter than the interval of rounds, so that a round that starts early is not skipped. */
const STATE_CHECK_EVERY_MS = LIMITS.alertRoundEveryMs - LIMITS.alertRoundDelayMs;
const NO_FINDINGS: ReadonlyMap<string, readonly Finding[]> = new Map();

export interface AlertRoundsOptions {
  readonly store: { readonly alerts: AlertStore; readonly deadLetterGroups: Pick<DeadLetterGroupStore, 'find'> };
  readonly settings: AlertSettingsCache;
  readonly notices: Notices;
  readonly conditions: ConditionReader;
  readonly context: RunStarts['context'];
  /** Sets the timers of rounds. */
  readonly clock: Clock;
  readonly log: Log;
  /** Reports a change of the alerts of an instance to clients that watch it. */
  readonly reportChange: (instanceId: string) => void;
  /** No rounds are done while this is closed. */
  readonly writes: StoreWritesState;
  /**
   * Does the work and resolves with true, or resolves with false if another node is doing it. Absent if no other node
   * shares the store.
   */
  readonly tryExclusively?: (work: () => Promise<void>) => Promise<boolean>;
}

export class AlertRounds {
  private readonly options: AlertRoundsOptions;
  private cancelTimer: () => void = () => {};
  /** Time of the next round, Unix ms; infinite if none is scheduled. */
  private nextRoundAt = Number.POSITIVE_INFINITY;
  private currentRound: Promise<void> | null = null;
  private isStopped = true;
  private readonly locks = new InstanceLocks();
  /** When the last full round was done. */
  private fullRoundAt = Number.NEGATIVE_INFINITY;
  /** When the rules that check the current state were last evaluated. */
  private stateCheckedAt = Number.NEGATIVE_INFINITY;
  /** Time since which the store has rejected writes, as detected by rounds, Unix ms; null while it accepts them. */
  private rejectsWritesSince: number | null = null;
  /** The last period in which the store rejected writes, while rules still report it. */
  private trouble: StoreTrouble | null = null;

  constructor(options: AlertRoundsOptions) {
    this.options = options;
  }

  /** Starts rounds, if any instance has settings. */
  start(): void {
    this.isStopped = false;
    if (this.options.tryExclusively || !this.options.settings.isEmpty) this.scheduleRound(LIMITS.alertRoundDelayMs);
  }

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

  /** Does a round soon, because a run has failed or the settings have changed. */
  runSoon(): void {
    // With several nodes, another node may have added the first rules.
    if (this.options.tryExclusively || this.options.settings.instancesWithRules().length > 0)
      this.scheduleRound(LIMITS.alertRoundDelayMs);
  }

  /** Does a round of the instance now, for example to end the alerts of a deleted rule. Rejects if the store fails. */
  runNow(instanceId: string): Promise<void> {
    return this.evaluateInTurn(instanceId, false);
  }

  private evaluateInTurn(instanceId: string, checksState: boolean): Promise<void> {
    return this.locks.run(instanceId, () => this.evaluate(instanceId, checksState));
  }

  private async evaluate(instanceId: string, checksState: boolean): Promise<void> {
    const { store, settings, notices, context, reportChange } = this.options;
    const rules = settings.of(instanceId)?.rules ?? [];
    const maxEvents = LIMITS.alertEventsPerStep;
    const findings = checksState ? await this.readFindings(instanceId, rules) : NO_FINDINGS;
    for (;;) {
      const events = await store.alerts.events({ instanceId, limit: maxEvents });
      const openAlerts = await store.alerts.listOpen({ instanceId });
      const fingerprints = new Set([
        ...events.map(({ fingerprint }) => fingerprint),
        ...openAlerts.filter(({ kind }) => kind === 'error-group').map(({ subject }) => subject),
      ]);
      const groups = rules.some(({ condition }) => condition.kind === 'error-group')
        ? await this.groupsOf(instanceId, fingerprints)
        : new Map<string, WatchedGroup>();
      const changes = evaluate({ rules, openAlerts, events, groups, findings }, context());
      if (events.length === 0 && changes.length === 0) break;
      const eventIds = events.map(({ eventId }) => eventId);
      // If another node has done this round, the next one continues from its result.
      if (!(await store.alerts.record({ instanceId, changes, eventIds }))) break;
      if (changes.length > 0) reportChange(instanceId);
      if (events.length < maxEvents) break;
    }
    await notices.sendDue(instanceId);
  }

  private scheduleRound(delayMs: number): void {
    if (this.isStopped) return;
    const { clock } = this.options;
    const at = clock.now() + delayMs;
    if (at >= this.nextRoundAt) return;
    this.cancelTimer();
    this.nextRoundAt = at;
    this.cancelTimer = clock.setTimer(at, () => {
      this.nextRoundAt = Number.POSITIVE_INFINITY;
      void this.round();
    });
  }

  private round(): Promise<void> {
    this.currentRound ??= this.runRound().finally(() => {
      this.currentRound = null;
      const { tryExclusively, settings } = this.options;
      if (tryExclusively || settings.instancesWithRules().length > 0) this.scheduleRound(LIMITS.alertRoundEveryMs);
      else if (!settings.isEmpty) this.scheduleRound(HOUR_MS);
    });
    return this.currentRound;
  }

  /**
   * Whether the next round is a full one. It removes old alerts, and includes instances without rules: an alert can still be open
   * there, if the process ended between the deletion of the last rule and the end of its alerts.
   */
  private get isFullRoundDue(): boolean {
    return this.options.context().now - this.fullRoundAt >= HOUR_MS;
  }

  private instancesOfRound(isFullRound: boolean): readonly string[] {
    const { settings } = this.options;
    return isFullRound ? settings.instances() : settings.instancesWithRules();
  }

  private async runRound(): Promise<void> {
    const { settings, writes, log, tryExclusively } = this.options;
    this.recordTrouble();
    if (!writes.isOpen) return;
    try {
      if (!tryExclusively) return await this.evaluateAll();
      // Another node may have changed the settings, and its notice may have been lost.
      await settings.refresh();
      if (this.instancesOfRound(this.isFullRoundDue).length > 0) await tryExclusively(() => this.evaluateAll());
    } catch (error) {
      if (!writes.reportFailure(error)) log.error({ error: String(error) }, 'could not evaluate alert rules, retrying in 10 s');
    }
  }

  private async evaluateAll(): Promise<void> {
    const { settings, store, context, writes, log } = this.options;
    const { now } = context();
    const isFullRound = this.isFullRoundDue;
    // A round soon after a failure skips the reads that may be expensive.
    const checksState = now - this.stateCheckedAt >= STATE_CHECK_EVERY_MS;
    if (checksState) this.stateCheckedAt = now;
    for (const instanceId of this.instancesOfRound(isFullRound)) {
      if (this.isStopped) return;
      const isDeleted = settings.of(instanceId) === null;
      if (isDeleted || !writes.isOpenFor(instanceId)) continue;
      try {
        await this.evaluateInTurn(instanceId, checksState);
        if (!isFullRound) continue;
        const endedBefore = now - LIMITS.endedAlertsKeptMs;
        await store.alerts.removeEnded({ instanceId, endedBefore, limit: LIMITS.maxRemovedAlerts });
      } catch (error) {
        // Otherwise, the instances after this one would have no alerts for as long as it fails.
        if (!writes.reportFailure(error))
          log.error({ instanceId, error: String(error) }, 'could not evaluate alert rules, retrying in 10 s');
        if (!writes.isOpen) return;
      }
    }
    if (isFullRound) this.fullRoundAt = now;
  }

  /** Records when the store rejected writes. The rules are evaluated when it accepts them again, and for a while after that. */
  private recordTrouble(): void {
    const { writes, context } = this.options;
    const { now } = context();
    if (!writes.isOpen) this.rejectsWritesSince ??= now;
    else if (this.rejectsWritesSince !== null) {
      this.trouble = { from: this.rejectsWritesSince, to: now };
      this.rejectsWritesSince = null;
    } else if (this.trouble && now - this.trouble.to >= LIMITS.defaultAlertEndAfterMs) this.trouble = null;
  }

  /**
   * Returns the findings of the rules that check the current state. A rule whose state cannot be read is omitted, so that
   * its alerts do not change.
   */
  private async readFindings(instanceId: string, rules: readonly AlertRule[]): Promise<ReadonlyMap<string, readonly Finding[]>> {
    const { conditions, context, log, writes } = this.options;
    const findings = new Map<string, readonly Finding[]>();
    for (const rule of rules) {
      const { isEnabled, condition } = rule;
      if (!isEnabled || isAboutEvents(condition)) continue;
      try {
        findings.set(
          rule.name,
          await conditions.read({ ...rule, condition }, { instanceId, now: context().now, trouble: this.trouble }),
        );
      } catch (error) {
        if (writes.reportFailure(error)) throw error;
        log.warn({ instanceId, rule: rule.name, error: String(error) }, 'could not evaluate an alert rule, retrying in 10 s');
      }
    }
    return findings;
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
