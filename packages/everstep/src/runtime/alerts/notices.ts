/** Creates the messages of due notices. A notice is a row until each of its messages is durable. */
import { LIMITS } from '../../config/limits.js';
import type { Alert } from '../../engine/alerts/alert.js';
import { alertPath } from '../../engine/alerts/alert-link.js';
import type { AlertDestination } from '../../engine/alerts/alert-settings.js';
import { createNotice } from '../../engine/alerts/lifecycle.js';
import { type AlertNotice, noticeContent } from '../../engine/alerts/notice-content.js';
import type { Log } from '../../ports/log.js';
import type { AlertStore } from '../../ports/stores/alerts/alert-store.js';
import type { RunStarts } from '../runs/run-starts.js';
import type { CachedAlertSettings } from './alert-settings-cache.js';

const HOUR_MS = 3_600_000;
const NOTICES_PER_STEP = 50;

export interface NoticesOptions extends RunStarts {
  readonly store: Pick<AlertStore, 'dueNotices' | 'countNotified' | 'moveNotice'>;
  readonly settings: CachedAlertSettings;
  /** Returns the URL of the dashboard without a trailing slash. */
  readonly dashboardUrl: () => string;
  readonly log: Log;
}

export class Notices {
  private readonly options: NoticesOptions;

  constructor(options: NoticesOptions) {
    this.options = options;
  }

  /** Creates the messages of all notices of the instance that are due, as far as its hourly limit allows. */
  async sendDue(instanceId: string): Promise<void> {
    const { store, context, log } = this.options;
    const { now } = context();
    const dueAlerts = await store.dueNotices({ instanceId, before: now, limit: NOTICES_PER_STEP });
    if (dueAlerts.length === 0) return;
    const remainingQuota = LIMITS.maxAlertNoticesPerHour - (await store.countNotified({ instanceId, since: now - HOUR_MS }));
    for (const [index, alert] of dueAlerts.entries()) {
      if (index < remainingQuota) await this.sendNotice(instanceId, alert);
      else await store.moveNotice({ instanceId, alert, notifyAt: now + LIMITS.alertNoticePostponeMs, now });
    }
    if (dueAlerts.length > remainingQuota) {
      const postponed = dueAlerts.length - Math.max(0, remainingQuota);
      log.warn({ instanceId, postponed }, 'alert notices were postponed');
    }
  }

  /** Creates the message and returns its id. See `createNotice` for `deduplicationId`. */
  async send(
    instanceId: string,
    destination: AlertDestination,
    notice: AlertNotice,
    deduplicationId: string | null,
  ): Promise<string> {
    const { context, commit, drive } = this.options;
    const decisionContext = context();
    const dashboardUrl = this.urlOf(instanceId, notice);
    const content = noticeContent(notice, destination, { instanceId, at: decisionContext.now, dashboardUrl });
    const source = { instanceId, callerIp: '' };
    const { payload, ...startedRun } = createNotice(source, destination, content, decisionContext, deduplicationId);
    const result = await commit(startedRun.unit);
    if (result.kind === 'applied') drive(startedRun, payload);
    return startedRun.run.workflowRunId;
  }

  private urlOf(instanceId: string, notice: AlertNotice): string {
    const { dashboardUrl, settings } = this.options;
    if (notice.kind === 'test') return `${dashboardUrl()}/q/${instanceId}/alerts`;
    const rule = settings.of(instanceId)?.rules.find(({ name }) => name === notice.alert.rule);
    return dashboardUrl() + alertPath(instanceId, notice.alert, rule?.condition ?? null);
  }

  /** Creates the messages of the due notice of an alert, one for each destination of its rule. */
  private async sendNotice(instanceId: string, alert: Alert): Promise<void> {
    const { store, settings, context } = this.options;
    const { alertId, notice: kind, rule: ruleName } = alert;
    if (kind === null) return;
    const rule = settings.of(instanceId)?.rules.find(({ name }) => name === ruleName);
    for (const name of rule?.destinations ?? []) {
      const destination = settings.destination(instanceId, name);
      // A notice that is sent again after a crash has the same id, so it creates no second message.
      if (destination) await this.send(instanceId, destination, { kind, alert }, `${alertId}/${kind}/${name}`);
    }
    await store.moveNotice({ instanceId, alert, notifyAt: null, now: context().now });
  }
}
