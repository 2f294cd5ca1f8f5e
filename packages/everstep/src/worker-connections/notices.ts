/** Failure notices to workers, and the replies to them. */
import { type FailureNotice, type NoticeAnswer, truncateText } from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';

type Fields = Readonly<Record<string, unknown>>;
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns a notice of the server in the form that the function of a workflow expects. A notice for a failure callback has the
 * error text only in its body.
 */
export function readNotice(value: unknown): FailureNotice {
  const notice = value as FailureNotice;
  return notice.error === undefined ? { ...notice, error: Buffer.from(notice.body, 'base64').toString('utf8') } : notice;
}

/** Returns the reply to a notice, or null if it is malformed. */
export function readNoticeReply(value: unknown): NoticeAnswer | null {
  if (!isFields(value)) return null;
  if (value.kind === 'handled') return { kind: 'handled' };
  const { message, retry } = value;
  if (value.kind !== 'failed' || typeof message !== 'string' || !isFields(retry)) return null;
  const text = truncateText(message, LIMITS.maxKeptErrorLength);
  if (retry.kind === 'backoff' || retry.kind === 'never') return { kind: 'failed', message: text, retry: { kind: retry.kind } };
  const { delayMs } = retry;
  if (retry.kind !== 'after' || typeof delayMs !== 'number' || !(delayMs >= 0)) return null;
  return { kind: 'failed', message: text, retry: { kind: 'after', delayMs: Math.min(delayMs, LIMITS.maxRetryDelayMs) } };
}
