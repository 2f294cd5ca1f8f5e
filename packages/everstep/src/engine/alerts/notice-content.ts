/** The bodies of notices about alerts: JSON for webhooks, and text for Slack and email. */
import { truncateText } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { Alert, NoticeKind } from './alert.js';
import type { AlertDestination } from './alert-settings.js';

/** A notice about an alert. A `test` was requested by a user, and belongs to no alert. */
export type AlertNotice = { readonly kind: NoticeKind; readonly alert: Alert } | { readonly kind: 'test' };

export interface NoticeOrigin {
  readonly instanceId: string;
  /** Time of the notice, Unix ms. */
  readonly at: number;
  /** URL of the page of the dashboard that shows the subject of the notice. */
  readonly dashboardUrl: string;
}

/** The content of an email. */
export interface MailContent {
  readonly subject: string;
  readonly text: string;
}

const TEST_SUMMARY = 'This is a test of an alert destination. No action is needed.';

const HEADINGS = { opened: 'Alert', ended: 'Ended', test: 'Test' } as const;

const summaryOf = (notice: AlertNotice): string => (notice.kind === 'test' ? TEST_SUMMARY : notice.alert.details.summary);

/** Escapes the three characters that Slack requires to be escaped. */
const escapeSlackText = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Returns the text of a notice, with one fact per line. */
export function noticeText(notice: AlertNotice, { dashboardUrl }: Pick<NoticeOrigin, 'dashboardUrl'>): readonly string[] {
  const lines = [`${HEADINGS[notice.kind]}: ${summaryOf(notice)}`];
  if (notice.kind === 'test') return [...lines, dashboardUrl];
  const { rule, occurrences, details } = notice.alert;
  const { stepName, workflowRunId, error } = details;
  return [
    ...lines,
    ...(stepName === undefined ? [] : [`Step: ${stepName}`]),
    ...(workflowRunId === undefined ? [] : [`Last run: ${workflowRunId}`]),
    ...(error === undefined ? [] : [`Error: ${error}`]),
    `Rule: ${rule}, occurrences: ${occurrences}`,
    dashboardUrl,
  ];
}

function mailContent(notice: AlertNotice, origin: NoticeOrigin): MailContent {
  const subject = `[Everstep] ${HEADINGS[notice.kind]}: ${summaryOf(notice)}`;
  return {
    subject: truncateText(subject.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' '), LIMITS.maxMailSubjectLength),
    text: `${noticeText(notice, origin).join('\n\n')}\n\nQueue instance: ${origin.instanceId}\n`,
  };
}

/** Returns the JSON body for the destination. */
export function noticeContent(notice: AlertNotice, { kind }: Pick<AlertDestination, 'kind'>, origin: NoticeOrigin): object {
  const { instanceId, at, dashboardUrl } = origin;
  if (kind === 'slack') return { text: noticeText(notice, origin).map(escapeSlackText).join('\n') };
  if (kind === 'email') return mailContent(notice, origin);
  const type = `alert.${notice.kind}`;
  if (notice.kind === 'test') return { type, at, instanceId, dashboardUrl, summary: TEST_SUMMARY };
  const { alertId, rule, kind: ruleKind, subject, openedAt, lastAt, endedAt, occurrences, details } = notice.alert;
  return {
    type,
    at,
    instanceId,
    dashboardUrl,
    alert: { alertId, rule, kind: ruleKind, subject, openedAt, lastAt, endedAt, occurrences, ...details },
  };
}
