/** How states of failure callbacks are shown. */
import type { FailureFunctionState } from '../../../../everstep/src/contract/dead-letters.js';
import type { IconName } from '../../components/icons.js';
import type { Tone } from '../../components/status-badge.js';

export const CALLBACK_TEXTS: Readonly<
  Record<FailureFunctionState, { readonly text: string; readonly tone: Tone; readonly icon?: IconName }>
> = {
  CALLBACK_INPROGRESS: { text: 'In progress', tone: 'info' },
  CALLBACK_SUCCESS: { text: 'Delivered', tone: 'good' },
  CALLBACK_FAIL: { text: 'Failed', tone: 'bad' },
  CALLBACK_CANCELED: { text: 'Canceled', tone: 'quiet', icon: 'stop' },
};
