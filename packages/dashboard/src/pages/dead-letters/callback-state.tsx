/** Badge with the state of a failure callback. */
import type { FailureFunctionState } from '../../../../everstep/src/contract/dead-letters.js';
import type { IconName } from '../../components/icons.js';
import { StatusBadge, type Tone } from '../../components/status-badge.js';

export type CallbackState = FailureFunctionState;

const STATES: Readonly<Record<CallbackState, { readonly text: string; readonly tone: Tone; readonly icon?: IconName }>> = {
  CALLBACK_INPROGRESS: { text: 'In progress', tone: 'info' },
  CALLBACK_SUCCESS: { text: 'Delivered', tone: 'good' },
  CALLBACK_FAIL: { text: 'Failed', tone: 'bad' },
  CALLBACK_CANCELED: { text: 'Canceled', tone: 'quiet', icon: 'stop' },
};

export function CallbackBadge({ state }: { readonly state: CallbackState }) {
  const { text, tone, icon } = STATES[state];
  return (
    <StatusBadge tone={tone} {...(icon === undefined ? {} : { icon })}>
      {text}
    </StatusBadge>
  );
}
