/** The workflow service on one store: the services that act on runs, and the background work. */

import { newId } from '../engine/ids.js';
import { NO_SLICES } from '../fairness/work-slices.js';
import { NO_OBSERVER } from '../ports/observer.js';
import { NO_LIMITS } from '../ports/stores/instance-limits.js';
import { NO_WORKERS } from '../ports/workers.js';
import { AlertRounds } from './alerts/alert-rounds.js';
import { AlertSettingsCache } from './alerts/alert-settings-cache.js';
import { Alerts } from './alerts/alerts.js';
import { ConditionReader } from './alerts/conditions.js';
import { Notices } from './alerts/notices.js';
import { commitInSlices } from './forks/staging.js';
import type { FlowControlService } from './interface/flow-control.js';
import { PublishedMessages } from './messages/published-messages.js';
import { Queues } from './messages/queues.js';
import { UrlGroups } from './messages/url-groups.js';
import { Repairs } from './repairs/repairs.js';
import { RunDriver } from './runs/run-driver.js';
import type { RunDriverOptions } from './runs/run-driver-options.js';
import type { RunStarts } from './runs/run-starts.js';
import { DeadLetters } from './services/dead-letters.js';
import { Destinations, FlowControls, Settings } from './services/flow-controls.js';
import { Runs } from './services/runs.js';
import { Schedules } from './services/schedules.js';
import type { WorkflowService } from './services/workflow-service.js';
import { createUpkeep, type Upkeep } from './upkeep.js';

export interface Runtime extends WorkflowService {
  /** Continues all pending work. Rejects if the store cannot be read; it can then be called again. */
  start(): Promise<void>;
  stop(options: { readonly graceMs: number }): Promise<void>;
  /** Resolves when no work is in progress, except work that waits for time to pass. */
  idle(): Promise<void>;
}

export function createRuntime(options: RunDriverOptions): Runtime {
  const alertSettings = new AlertSettingsCache({
    secrets: options.store.accounts,
    onChange(instanceId) {
      // Other nodes read the settings again.
      options.cluster?.notify({ kind: 'settings', instanceId });
      driver.live.changed(instanceId, 'settings');
    },
    isDeleted: (instanceId) => upkeep.removal.isDeleted(instanceId),
  });
  const driver: RunDriver = new RunDriver({
    ...options,
    alertSettings,
    isDeleted: (instanceId) => upkeep.removal.isDeleted(instanceId),
    onChange(change) {
      // If a node may have failed, other nodes start its due schedules.
      if (change.kind === 'everything') services.schedules.runDue();
      if (change.kind === 'everything' || change.kind === 'account') void upkeep.removal.refresh();
      if (change.kind === 'everything' || change.kind === 'settings') refreshAlerts();
      options.onChange?.(change);
    },
  });
  const upkeep = createUpkeep(options, (instanceId) => {
    driver.stopInstance(instanceId);
    alertSettings.forget(instanceId);
  });
  const baseServices = createServices(options, driver, upkeep);
  const { alertRounds, ...alertServices } = createAlerts(options, driver, alertSettings, baseServices.flowControl);
  const services = { ...baseServices, ...alertServices };
  const { schedules, repairs } = services;
  const refreshAlerts = (): void =>
    void alertSettings.refresh().then(
      () => alertRounds.runSoon(),
      (error: unknown) => options.log.warn({ error: String(error) }, 'could not read alert settings, retrying within 10 s'),
    );
  driver.writes.onOpen(() => {
    schedules.runDue();
    repairs.scheduleRound();
    alertRounds.runSoon();
  });
  driver.onDeadLetter = () => alertRounds.runSoon();
  driver.ends.onEnd = () => repairs.onRunEnded();
  const { removal, retention, groups } = upkeep;
  const backgroundWork = [schedules, retention, removal, groups, repairs, alertRounds];
  return {
    ...services,
    async start() {
      await removal.refresh();
      await alertSettings.refresh();
      await driver.start();
      await schedules.start();
      await retention.start();
      groups.start();
      repairs.start();
      alertRounds.start();
    },
    async stop({ graceMs }) {
      await Promise.all(backgroundWork.map((service) => service.stop()));
      await driver.stop(graceMs);
    },
    async idle() {
      do {
        await Promise.all(backgroundWork.map((service) => service.settled()));
        await driver.idle();
      } while (backgroundWork.some((service) => !service.isIdle));
    },
  };
}

/** Creates the services of alerts. */
function createAlerts(
  options: RunDriverOptions,
  driver: RunDriver,
  settings: AlertSettingsCache,
  flowControl: FlowControlService,
) {
  const { store, clock, upkeepClock = clock, log, cluster, workers = NO_WORKERS, budgetOf = async () => null } = options;
  const { publicUrl, dashboardUrl = publicUrl } = options;
  const { decisions, writes } = driver;
  const context = () => driver.context;
  const reportChange = (instanceId: string): void => driver.live.changed(instanceId, 'settings');
  const notices = new Notices({
    context,
    commit: decisions.commit.bind(decisions),
    drive: (startedRun, payload) => driver.drive(startedRun, payload),
    store: store.alerts,
    settings,
    dashboardUrl,
    log,
  });
  const exclusivity = cluster ? { tryExclusively: (work: () => Promise<void>) => cluster.tryExclusively('alerts', work) } : {};
  const conditions = new ConditionReader({ store, flowControl, workers, budgetOf });
  const alertRounds = new AlertRounds({
    store,
    settings,
    notices,
    conditions,
    context,
    clock: upkeepClock,
    log,
    writes,
    reportChange,
    ...exclusivity,
  });
  const alerts = new Alerts({ store: store.alerts, settings, rounds: alertRounds, notices, context });
  return { alertRounds, alerts };
}

/** Creates the services that use the driver. */
function createServices(options: RunDriverOptions, driver: RunDriver, { removal }: Upkeep) {
  const { store, clock, log, limits = NO_LIMITS, cluster = null, slices = NO_SLICES, observer = NO_OBSERVER } = options;
  const { dispatcher, gates, events, callbacks, decisions, writes, live } = driver;
  const now = () => clock.now();
  const cancel = driver.cancel.bind(driver);
  const reportChange = live.changed.bind(live);
  const starts: RunStarts = {
    context: () => driver.context,
    commit: decisions.commit.bind(decisions),
    drive: (startedRun, payload) => driver.drive(startedRun, payload),
  };
  const { commit } = starts;
  const staging = { store, commit, slices };
  const slicedStarts: RunStarts = { ...starts, commit: (unit) => commitInSlices(staging, unit) };
  const ownerOptions = options.owners ? { owners: options.owners } : {};
  const deadLetters = new DeadLetters({ ...slicedStarts, store, reportChange });
  return {
    runs: new Runs({ store, clock, stepCaller: options.stepCaller, limits, driver, slices }),
    deadLetters,
    failureCallbacks: callbacks,
    events,
    messages: new PublishedMessages({ ...starts, store, slices, cancel, isInFlight: dispatcher.isInFlight.bind(dispatcher) }),
    queues: new Queues({ store, now, commit, gates, cluster, cancel }),
    urlGroups: new UrlGroups({ store, now, commit }),
    schedules: new Schedules({ ...starts, store, clock, log, limits, ...ownerOptions, writes, observer }),
    flowControl: new FlowControls({ store, clock, dispatcher, cluster }),
    destinations: new Destinations(gates, cluster),
    settings: new Settings({ store, gates }),
    repairs: new Repairs({
      ...starts,
      commit: (unit, signal) => commitInSlices({ ...staging, signal }, unit),
      ...{ store, repairs: store.repairs, reportChange, clock, log, cluster, limits, writes },
      ...ownerOptions,
      prepare: deadLetters.prepare.bind(deadLetters),
    }),
    live,
    deletedInstances: removal,
    workload: () => dispatcher.workload,
    now,
    newId: (prefix: Parameters<typeof newId>[0]) => newId(prefix, driver.context),
  } satisfies Omit<WorkflowService, 'alerts'>;
}
