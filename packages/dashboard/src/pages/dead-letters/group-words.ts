/** What is said of groups, in words that are the same everywhere. */
import type { DeadLetterGroup } from '../../../../everstep/src/contract/dead-letter-groups.js';
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
    meaning: 'It was resolved, and has come again.',
  },
  new: { text: 'New', tone: 'warn', icon: 'warning', meaning: 'First seen less than a day ago, and nobody has acknowledged it.' },
  known: { text: 'Known', tone: 'quiet', icon: 'check', meaning: 'Somebody has acknowledged it, or it is older than a day.' },
};

/** `step charge · status 500` */
export function whereOf({ stepName, responseStatus }: Pick<DeadLetterGroup, 'stepName' | 'responseStatus'>): string {
  const step = stepName === null ? 'between steps' : `step ${stepName}`;
  return responseStatus === null ? `${step} · no answer` : `${step} · status ${responseStatus}`;
}

/** `/checkout on shop.example`: what tells workflows apart stands first. */
export function workflowName(workflowUrl: string): string {
  try {
    const { host, pathname } = new URL(workflowUrl);
    return pathname === '/' ? host : `${pathname} on ${host}`;
  } catch {
    return workflowUrl;
  }
}
