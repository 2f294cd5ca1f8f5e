/** Texts about groups of dead letters. */
import type { DeadLetterGroup } from '../../../../everstep/src/contract/dead-letter-groups.js';
import type { DeadLetterEntry } from '../../../../everstep/src/contract/dead-letters.js';
import { splitError } from '../../components/errors/error-text.js';
import type { IconName } from '../../components/icons.js';
import type { Tone } from '../../components/status-badge.js';

export type GroupState = DeadLetterGroup['state'];

export const GROUP_STATES: Readonly<
  Record<GroupState, { readonly text: string; readonly tone: Tone; readonly icon: IconName; readonly meaning: string }>
> = {
  regressed: {
    text: 'Regressed',
    tone: 'bad',
    icon: 'refresh',
    meaning: 'Occurred again after it was resolved.',
  },
  new: { text: 'New', tone: 'warn', icon: 'warning', meaning: 'First seen less than a day ago and not acknowledged.' },
  known: { text: 'Known', tone: 'quiet', icon: 'check', meaning: 'Acknowledged, or first seen more than a day ago.' },
};

/** HTTP status of an error that is not retried. It is not shown, because the error text already says so. */
const NON_RETRYABLE_STATUS = 489;

/** Returns where an entry failed, and the status: `charge · HTTP 500` */
export function entryLocation({ error, responseStatus }: Pick<DeadLetterEntry, 'error' | 'responseStatus'>): string {
  const { failedPart } = splitError(error);
  if (failedPart !== null && responseStatus === NON_RETRYABLE_STATUS) return failedPart;
  const status = responseStatus === undefined ? 'no response' : `HTTP ${responseStatus}`;
  return failedPart === null ? status : `${failedPart} · ${status}`;
}

/** Returns where the newest entry of a group failed: `step charge · HTTP 500` */
export function failureLocation({ latest, stepName, responseStatus, kind }: DeadLetterGroup): string {
  const name = latest?.stepName ?? stepName;
  const step = name !== null ? `step ${name}` : kind === 'message' ? 'message' : 'workflow code';
  if (responseStatus === NON_RETRYABLE_STATUS) return step;
  return responseStatus === null ? `${step} · no response` : `${step} · HTTP ${responseStatus}`;
}

/**
 * Returns a short name of a workflow, with the distinguishing part first: `/checkout on shop.example`, `checkout on
 * worker://shop`
 */
export function workflowAndHost(workflowUrl: string): string {
  try {
    const { protocol, host, pathname } = new URL(workflowUrl);
    // The name of an app alone would look like a host.
    if (protocol === 'worker:') return `${pathname.slice(1)} on ${protocol}//${host}`;
    return pathname === '/' ? host : `${pathname} on ${host}`;
  } catch {
    return workflowUrl;
  }
}
