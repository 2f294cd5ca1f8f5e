/** Badge with the state of a failure callback. */
import type { FailureFunctionState } from '../../../../everstep/src/contract/dead-letters.js';
import { StatusBadge } from '../../components/status-badge.js';
import { CALLBACK_TEXTS } from './callback-texts.js';

export type CallbackState = FailureFunctionState;

export function CallbackBadge({ state }: { readonly state: CallbackState }) {
  const { text, tone, icon } = CALLBACK_TEXTS[state];
  return (
    <StatusBadge tone={tone} {...(icon === undefined ? {} : { icon })}>
      {text}
    </StatusBadge>
  );
}
