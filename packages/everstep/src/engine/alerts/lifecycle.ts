/** Lifecycle webhooks: messages that report the start and the end of a run. They are created in the unit of the change. */
import { truncateText } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { DecisionContext } from '../ids.js';
import type { Run, RunOutcome, RunPayload } from '../runs/run.js';
import { startRun } from '../runs/start.js';
import type { StoreWrite } from '../writes.js';
import {
  type AlertDestination,
  type AlertSettings,
  displayUrl,
  type LifecycleEvent,
  type LifecycleWebhook,
} from './alert-settings.js';

/** A message to a destination, with the writes that create it. */
export interface Notice {
  readonly run: Run;
  readonly payload: RunPayload;
  readonly writes: readonly StoreWrite[];
}

interface NoticeSource {
  readonly instanceId: string;
  readonly callerIp: string;
}

/** Creates the message. With a `deduplicationId`, no second message is created within the deduplication window. */
export function createNotice(
  { instanceId, callerIp }: NoticeSource,
  destination: AlertDestination,
  content: object,
  context: DecisionContext,
  deduplicationId: string | null = null,
) {
  const payload = {
    body: new TextEncoder().encode(JSON.stringify(content)),
    contentType: 'application/json',
    forwardHeaders: {},
  };
  const startedRun = startRun(
    {
      instanceId,
      dialect: 'native',
      workflowUrl: displayUrl(destination),
      payload,
      settings: {
        maxRetries: LIMITS.noticeRetries,
        retryDelay: null,
        deliveryTimeoutMs: LIMITS.noticeTimeoutMs,
        labels: [],
        flowControl: null,
        failureCallback: null,
        message: { method: 'POST', destination: destination.name },
      },
      callerIp,
      workflowRunId: null,
      notBefore: null,
      deduplicationId,
    },
    context,
  );
  return { ...startedRun, payload };
}

const matches = (webhook: LifecycleWebhook, run: Run, event: LifecycleEvent): boolean =>
  webhook.isEnabled &&
  webhook.events.includes(event) &&
  (webhook.workflowUrl === undefined || webhook.workflowUrl === run.workflowUrl) &&
  (webhook.label === undefined || run.settings.labels.includes(webhook.label));

/** Returns the body of a notice. It never contains a payload or a result. */
function contentOf(run: Run, event: LifecycleEvent, outcome: RunOutcome | null, at: number): object {
  const { workflowRunId, workflowUrl, createdAt, origin, settings } = run;
  const isRedacted = settings.redact !== undefined;
  return {
    type: event,
    at,
    run: {
      workflowRunId,
      workflowUrl,
      workflowCreatedAt: createdAt,
      labels: settings.labels,
      ...(origin === null ? {} : { startedBy: origin.kind }),
      ...(outcome === null ? {} : { durationMs: at - createdAt }),
      ...(outcome?.status === 'failed' && !isRedacted ? { error: truncateText(outcome.error, LIMITS.maxNoticeErrorLength) } : {}),
    },
  };
}

/** Returns the notices of the start of a run (`outcome` is null) or of its end. Plain messages have none. */
export function lifecycleNotices(
  run: Run,
  outcome: RunOutcome | null,
  { webhooks, destinations }: AlertSettings,
  context: DecisionContext,
): readonly Notice[] {
  if (webhooks.length === 0 || run.settings.message) return [];
  const event: LifecycleEvent = outcome === null ? 'run.started' : `run.${outcome.status}`;
  return webhooks
    .filter((webhook) => matches(webhook, run, event))
    .flatMap(({ destination: destinationName }) => {
      const destination = destinations.find(({ name, kind }) => name === destinationName && kind === 'webhook');
      if (!destination) return [];
      const {
        run: noticeRun,
        payload,
        unit,
      } = createNotice(run, destination, contentOf(run, event, outcome, context.now), context);
      return [{ run: noticeRun, payload, writes: unit.writes }];
    });
}
