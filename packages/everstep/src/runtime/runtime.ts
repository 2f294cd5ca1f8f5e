/** The workflow service on one store: what users ask for, made durable and driven. */

import { type IdPrefix, newId } from '../engine/ids.js';
import { recoverRun, type Started, startRun } from '../engine/runs/start.js';
import type { CommitResult, CommitUnit } from '../engine/writes.js';
import { AT_ONCE } from '../fairness/work-slices.js';
import type { SharedChange } from '../ports/cluster.js';
import { NO_LIMITS } from '../ports/stores/instance-limits.js';
import type { RunRecord, RunReference } from '../ports/stores/store.js';
import { keyWaitList } from './dispatch/key-wait-list.js';
import { originOf } from './dispatch/passages.js';
import { forkOne } from './forks/forks.js';
import { commitInSlices, type StagingOptions } from './forks/staging.js';
import { MessageTargets } from './messages/message-targets.js';
import { PublishedMessages } from './messages/messages-published.js';
import { InstanceRemoval } from './removal/instance-removal.js';
import type { Recovery } from './repairs/beginning.js';
import { Repairs } from './repairs/repairs.js';
import { toldRepairs } from './repairs/told-repairs.js';
import { explainRun } from './runs/explain.js';
import { checkReplays } from './runs/replay-checks.js';
import { RunDriver } from './runs/run-driver.js';
import type { RunDriverOptions } from './runs/run-driver-options.js';
import { GroupUpkeep } from './services/group-upkeep.js';
import { Retention } from './services/retention.js';
import { Schedules } from './services/schedules.js';
import type {
  CancelOutcome,
  FlowControlStatus,
  RecoverCommand,
  RecoverOutcome,
  TriggerCommand,
  TriggerOutcome,
  WorkflowService,
} from './services/workflow-service.js';

export interface Runtime extends WorkflowService {
  /** Takes up everything that is owed. */
  start(): Promise<void>;
  stop(options: { readonly graceMs: number }): Promise<void>;
  /** Resolves when nothing is under way that would go on without time passing. */
  idle(): Promise<void>;
}

const referenceOf = ({ run }: Started): RunReference => ({
  runKey: run.key,
  workflowRunId: run.workflowRunId,
  createdAt: run.createdAt,
});

export function createRuntime(options: RunDriverOptions): Runtime {
  const { store, clock, log, limits = NO_LIMITS, cluster } = options;
  const tell = (change: SharedChange): void => cluster?.tell(change);
  const driver = new RunDriver({
    ...options,
    isDeleted: (instanceId) => removal.isDeleted(instanceId),
    onChange(change) {
      // What a silent node would have fired is fired by others.
      if (change.kind === 'everything') schedules.look();
      if (change.kind === 'everything' || change.kind === 'account') void removal.look();
      options.onChange?.(change);
    },
  });
  const { gates, events, callbacks, decisions, writes } = driver;
  const schedules = new Schedules({
    store,
    clock,
    log,
    context: () => driver.context,
    commit: (unit) => decisions.commit(unit),
    begin: (started, payload) => driver.begin(started.run, payload),
    limits,
    ...(options.owners ? { owners: options.owners } : {}),
    writes,
  });
  const published = new PublishedMessages({
    store,
    context: () => driver.context,
    commit: (unit) => decisions.commit(unit),
    begin: (started, payload) => driver.begin(started.run, payload),
    cancel: (runKey) => driver.cancel(runKey),
    isInFlight: (ticket) => driver.isInFlight(ticket),
  });
  const targets = new MessageTargets({
    store,
    now: () => clock.now(),
    commit: (unit) => decisions.commit(unit),
    queueChanged: (instanceId, name, queue) => {
      gates.queueChanged(instanceId, name, queue);
      tell({ kind: 'queue', instanceId, name });
    },
    cancel: (runKey) => driver.cancel(runKey),
  });
  const retention = new Retention({
    store,
    clock: options.upkeepClock ?? clock,
    paceClock: options.paceClock ?? clock,
    log,
    bounds: (instanceId) => limits.retentionBounds(instanceId),
    ...(options.owners ? { owners: options.owners } : {}),
    ...(cluster ? { tryExclusively: (work) => cluster.tryExclusively('retention', work) } : {}),
  });
  const removal = new InstanceRemoval({
    store,
    clock: options.upkeepClock ?? clock,
    paceClock: options.paceClock ?? clock,
    log,
    stopInstance: (instanceId) => driver.stopInstance(instanceId),
    ...(cluster ? { tryExclusively: (work) => cluster.tryExclusively('removal', work) } : {}),
  });
  const groups = new GroupUpkeep({
    store,
    clock: options.upkeepClock ?? clock,
    now: () => clock.now(),
    log,
    ...(cluster ? { tryExclusively: (work) => cluster.tryExclusively('groups', work) } : {}),
  });

  const staging: StagingOptions = {
    store,
    commit: (unit) => decisions.commit(unit),
    slices: options.slices ?? AT_ONCE,
  };
  const commitCopying = (unit: CommitUnit): Promise<CommitResult> => commitInSlices(staging, unit);

  async function prepare(
    command: Pick<RecoverCommand, 'kind' | 'instanceId' | 'overrides' | 'workflowRunId' | 'admittedAt'>,
    dlqId: string,
  ): Promise<Recovery | 'missing' | 'no-flow-control-key'> {
    const letter = await store.findDeadLetter({ instanceId: command.instanceId, dlqId });
    const failed = letter && (await store.loadRun({ runKey: letter.runKey }));
    if (!letter || !failed) return 'missing';
    const { kind, overrides, workflowRunId = null, admittedAt = null } = command;
    const started = recoverRun(failed, { kind, dlqId, overrides, workflowRunId, admittedAt }, driver.context);
    return started === 'no-flow-control-key' ? started : { started, payload: letter.payload };
  }

  const repairs = new Repairs({
    store: {
      repairs: toldRepairs(store.repairs, (instanceId, topic) => driver.live.changed(instanceId, topic)),
      listDeadLetterIds: (query) => store.listDeadLetterIds(query),
      deadLetterHorizon: (query) => store.deadLetterHorizon(query),
      deadLetterGroups: store.deadLetterGroups,
    },
    clock,
    log,
    context: () => driver.context,
    cluster: cluster ?? null,
    prepare,
    commit: commitCopying,
    begin: (started, payload) => driver.begin(started.run, payload),
    limits,
    ...(options.owners ? { owners: options.owners } : {}),
    writes,
  });
  writes.onOpen(() => {
    schedules.look();
    repairs.look();
  });
  driver.ends.onEnd = () => repairs.runEnded();

  /** All of them in one unit: one entry that is gone, and nothing happens. */
  async function recoverAll(recoveries: readonly Recovery[]): Promise<CommitResult> {
    return commitCopying({
      guards: recoveries.flatMap(({ started }) => started.unit.guards),
      writes: recoveries.flatMap(({ started }) => started.unit.writes),
    });
  }

  async function recover(command: RecoverCommand): Promise<RecoverOutcome> {
    const recoveries: Recovery[] = [];
    const missing: string[] = [];
    for (const dlqId of command.dlqIds) {
      const prepared = await prepare(command, dlqId);
      if (prepared === 'no-flow-control-key') return { kind: 'no-flow-control-key', dlqId };
      if (prepared === 'missing') missing.push(dlqId);
      else recoveries.push(prepared);
    }
    if (missing.length > 0 && command.whenMissing === 'fail') return { kind: 'missing', dlqIds: missing };
    const begun: RunReference[] = [];
    const batches = command.whenMissing === 'fail' ? [recoveries] : recoveries.map((recovery) => [recovery]);
    const results = await Promise.all(batches.map(recoverAll));
    for (const [index, result] of results.entries()) {
      if (result.kind === 'run-id-taken') return { kind: 'run-id-taken', run: result.run };
      if (result.kind === 'dead-letters-missing' && command.whenMissing === 'fail')
        return { kind: 'missing', dlqIds: result.dlqIds };
      if (result.kind !== 'applied') continue;
      for (const { started, payload } of batches[index] ?? []) {
        driver.begin(started.run, payload);
        begun.push(referenceOf(started));
      }
    }
    return { kind: 'recovered', runs: begun };
  }

  async function trigger(command: TriggerCommand): Promise<TriggerOutcome> {
    const started = startRun(command, driver.context);
    const result = await decisions.commit(started.unit);
    switch (result.kind) {
      case 'applied':
        driver.begin(started.run, command.payload);
        return { kind: 'started', run: referenceOf(started) };
      case 'run-id-taken':
      case 'duplicate':
        return { kind: 'deduplicated', run: result.run };
      default:
        throw new Error(`a trigger cannot end as ${result.kind}`);
    }
  }

  async function submit(command: Parameters<WorkflowService['submit']>[0]): ReturnType<WorkflowService['submit']> {
    const run = await store.findRun(command);
    if (!run) return 'not-found';
    return (await driver.submit(run.key, command.submission)) ? 'taken' : 'not-active';
  }

  async function cancel(command: { readonly instanceId: string; readonly workflowRunId: string }): Promise<CancelOutcome> {
    const run = await store.findRun(command);
    if (!run) return { kind: 'not-found' };
    return { kind: (await driver.cancel(run.key)) ? 'canceled' : 'not-active' };
  }

  /** What goes on at keys whose gates are another node's, as that last told. */
  async function standings(instanceId: string, statuses: readonly FlowControlStatus[]): Promise<readonly FlowControlStatus[]> {
    if (!cluster || driver.holdsGates(instanceId) || statuses.length === 0) return statuses;
    const standing = await cluster.gateStatusOf(instanceId);
    return statuses.map((status) => ({ ...status, ...(standing?.keys[status.key] ?? { waiting: 0, inFlight: 0 }) }));
  }

  async function flowControl(query: { readonly instanceId: string; readonly key: string }): Promise<FlowControlStatus | null> {
    const status = await gates.flowControl(query);
    return status && ((await standings(query.instanceId, [status]))[0] ?? status);
  }

  async function awaitEnd(query: {
    readonly instanceId: string;
    readonly run: RunReference;
    readonly timeoutMs: number;
    readonly signal?: AbortSignal;
  }): Promise<RunRecord | null> {
    const { run, instanceId } = query;
    // Watch first, then look: an end between the two is not missed.
    const watch = driver.ends.watch(run.runKey, query.timeoutMs, query.signal);
    if (!(await driver.decisions.isActive(run.runKey))) watch.giveUp();
    await watch.ended;
    const record = await store.runRecord({ runKey: run.runKey });
    return record?.instanceId === instanceId && record.status !== 'active' ? record : null;
  }

  return {
    async start() {
      await removal.look();
      await driver.start();
      await schedules.start();
      await retention.start();
      groups.start();
      repairs.start();
    },
    async stop({ graceMs }) {
      await Promise.all([schedules.stop(), retention.stop(), removal.stop(), groups.stop(), repairs.stop()]);
      await driver.stop(graceMs);
    },
    async idle() {
      do {
        await Promise.all([schedules, retention, removal, groups, repairs].map((each) => each.settled()));
        await driver.idle();
      } while ([schedules, retention, removal, groups, repairs].some((each) => !each.idle));
    },
    submit,
    trigger,
    checkReplays: ({ runKeys, signal }) => checkReplays({ store, stepCaller: options.stepCaller, clock }, runKeys, signal),
    fork: (command) =>
      forkOne(
        {
          ...staging,
          store,
          context: () => driver.context,
          limits,
          begin: (run, payload) => driver.begin(run, payload),
        },
        command,
      ),
    recover,
    cancel,
    awaitEnd,
    publish: (commands) => published.publish(commands),
    message: (query) => published.message(query),
    messages: (query) => published.messages(query),
    messageEvents: (query) => published.messageEvents(query),
    cancelMessage: (command) => published.cancelMessage(command),
    cancelMessages: (command) => published.cancelMessages(command),
    async putQueue(command) {
      const queue = await targets.putQueue(command);
      await cluster?.confirm({ kind: 'queue', instanceId: command.instanceId, name: command.name });
      return queue;
    },
    queue: (query) => targets.queue(query),
    queues: (query) => targets.queues(query),
    deleteQueue: (command) => targets.deleteQueue(command),
    addEndpoints: (command) => targets.addEndpoints(command),
    removeEndpoints: (command) => targets.removeEndpoints(command),
    urlGroup: (query) => targets.urlGroup(query),
    urlGroups: (query) => targets.urlGroups(query),
    deleteUrlGroup: (command) => targets.deleteUrlGroup(command),
    notify: (command) => events.notify(command),
    instanceOfWebhook: (query) => events.instanceOfWebhook(query),
    callWebhook: (command) => events.callWebhook(command),
    flowControls: async (query) => standings(query.instanceId, await gates.flowControls(query)),
    flowControl,
    async flowControlWaiting(query) {
      const status = await flowControl(query);
      const holdsGates = driver.holdsGates(query.instanceId);
      return status && keyWaitList({ store, clock, holdsGates, gates }, query, status);
    },
    async changeFlowControl(command) {
      const { instanceId, key, change } = command;
      const status = await gates.changeFlowControl(command);
      const reset = change.kind === 'reset-rate' ? ({ reset: true } as const) : {};
      if (status) await cluster?.confirm({ kind: 'flow-control', instanceId, key, ...reset });
      return status;
    },
    globalParallelism: ({ instanceId }) => ({ max: driver.mostInFlight(instanceId), inFlight: driver.inFlight(instanceId) }),
    destinations: (query) => gates.destinations(query),
    async holdDestination(command) {
      await gates.holdDestination(command);
      await cluster?.confirm({ kind: 'settings', instanceId: command.instanceId });
    },
    async releaseDestination(command) {
      const released = await gates.releaseDestination(command);
      if (released) await cluster?.confirm({ kind: 'settings', instanceId: command.instanceId });
      return released;
    },
    instanceSettings: (query) => gates.instanceSettings(query),
    changeInstanceSettings: (command) => gates.changeInstanceSettings(command),
    putSchedule: (command) => schedules.put(command),
    pauseSchedule: (command) => schedules.pause(command),
    deleteSchedule: (command) => schedules.delete(command),
    runSchedule: (command) => schedules.run(command),
    planRepair: (command) => repairs.plan(command),
    changeRepair: (command) => repairs.change(command),
    explain: (query) =>
      explainRun(
        {
          store,
          now: clock.now(),
          live: {
            reasons: (ticket) => gates.reasons(ticket),
            isInFlight: (ticket) => driver.isInFlight(ticket),
            queuedBecause: (ticket) => driver.queuedBecause(ticket),
            heldAt: (instanceId, url) => gates.heldAt(instanceId, originOf(url)),
          },
        },
        query,
      ),
    retryCallback: ({ instanceId, dlqId }) => callbacks.retry(instanceId, dlqId),
    cancelCallback: ({ instanceId, dlqId }) => callbacks.cancel(instanceId, dlqId),
    watchHints: ({ instanceId, told }) => driver.live.watch(instanceId, told),
    instancesDeleted: () => removal.look(),
    changed: ({ instanceId, topic }) => driver.live.changed(instanceId, topic),
    underWay: () => driver.standing,
    now: () => clock.now(),
    newId: (prefix: IdPrefix) => newId(prefix, driver.context),
    async cancelRuns({ runKeys }) {
      const results = await Promise.all(runKeys.map((runKey) => driver.cancel(runKey)));
      return results.filter(Boolean).length;
    },
    async deleteDeadLetters({ instanceId, dlqIds, whenMissing }) {
      const units = (whenMissing === 'fail' ? [dlqIds] : dlqIds.map((dlqId) => [dlqId])).map((ids) => ({
        guards: [{ kind: 'dead-letters-present' as const, instanceId, dlqIds: ids }],
        writes: ids.map((dlqId) => ({ kind: 'take-dead-letter' as const, instanceId, dlqId, became: null })),
        count: ids.length,
      }));
      let count = 0;
      const results = await Promise.all(units.map((unit) => decisions.commit(unit)));
      for (const [index, result] of results.entries()) {
        if (result.kind === 'applied') count += units[index]?.count ?? 0;
        else if (result.kind === 'dead-letters-missing' && whenMissing === 'fail')
          return { kind: 'missing', dlqIds: result.dlqIds };
      }
      return { kind: 'deleted', count };
    },
  };
}
