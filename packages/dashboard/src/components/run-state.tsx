/** Labels and badges of run states. */
import type { RunState } from '../../../everstep/src/contract/states.js';
import type { IconName } from './icons.js';
import { StatusBadge, type Tone } from './status-badge.js';

interface StateDisplay {
  readonly tone: Tone;
  readonly text: string;
  readonly icon?: IconName;
}

export const RUN_STATES: Readonly<Record<RunState, StateDisplay>> = {
  RUN_STARTED: { tone: 'info', text: 'Running' },
  RUN_SUCCESS: { tone: 'good', text: 'Succeeded' },
  RUN_FAILED: { tone: 'bad', text: 'Failed' },
  RUN_CANCELED: { tone: 'quiet', text: 'Canceled', icon: 'stop' },
};

/** Badge of an active run that waits. It has a fixed text, so that nothing moves when the wait ends. */
export const WaitingBadge = () => (
  <StatusBadge tone="quiet" icon="clock">
    Waiting
  </StatusBadge>
);

export const RunStateBadge = ({ state }: { readonly state: RunState }) => {
  const { tone, text, icon } = RUN_STATES[state];
  return (
    <StatusBadge tone={tone} {...(icon === undefined ? {} : { icon })}>
      {text}
    </StatusBadge>
  );
};
