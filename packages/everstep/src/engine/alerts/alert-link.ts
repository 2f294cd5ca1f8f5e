/** Links of notices: the dashboard page that shows the subject of an alert. */
import { MINUTE_MS, startOfMinute } from '../insights/counts.js';
import type { Alert } from './alert.js';
import type { AlertCondition } from './alert-settings.js';

type Parameters = Readonly<Record<string, string | number | undefined>>;
type LinkedAlert = Pick<Alert, 'kind' | 'subject' | 'openedAt' | 'lastAt' | 'endedAt' | 'details'>;

const MESSAGE_PREFIX = 'msg_';

function withParameters(page: string, parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value));
  return `${page}?${query}`;
}

const deadLettersPage = (parameters: Parameters): string => withParameters('dead-letters', { view: 'entries', ...parameters });

function pageOf({ kind, subject, openedAt, lastAt, endedAt, details }: LinkedAlert, condition: AlertCondition | null): string {
  // The dead letters of plain messages have no page.
  if (details.workflowRunId?.startsWith(MESSAGE_PREFIX)) return 'alerts';
  switch (kind) {
    case 'run-failed': {
      const label = condition?.kind === kind ? condition.label : undefined;
      return deadLettersPage({ workflowUrl: subject, label, fromDate: openedAt, toDate: endedAt === null ? undefined : lastAt });
    }
    case 'error-group':
      return deadLettersPage({ fingerprint: subject });
    case 'failure-rate': {
      const windowMs = condition?.kind === kind ? Math.ceil(condition.windowMs / MINUTE_MS) * MINUTE_MS : 0;
      return deadLettersPage({ workflowUrl: details.workflowUrl, fromDate: startOfMinute(openedAt) - windowMs });
    }
    case 'pending-age':
      if (condition?.kind !== kind) return 'alerts';
      return condition.flowControlKey === undefined ? 'queues' : `flow-control/${encodeURIComponent(condition.flowControlKey)}`;
    case 'schedule-missed':
      return `schedules/${encodeURIComponent(subject)}`;
    case 'run-age': {
      const { label, workflowUrl, maxAgeMs } = condition?.kind === kind ? condition : {};
      const to = maxAgeMs === undefined ? undefined : openedAt - maxAgeMs;
      return withParameters('runs', { state: 'RUN_STARTED', url: workflowUrl, label, to });
    }
    case 'no-worker':
      return 'workers';
    case 'budget':
      return 'instance';
    case 'store-trouble':
      return 'overview';
  }
}

/**
 * Returns the path with its query, starting with a slash. `condition` is the condition of the rule; null if the rule was deleted.
 * For failures, the page lists the dead letters that the alert counted.
 */
export const alertPath = (instanceId: string, alert: LinkedAlert, condition: AlertCondition | null): string =>
  `/q/${encodeURIComponent(instanceId)}/${pageOf(alert, condition)}`;
