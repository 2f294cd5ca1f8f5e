/** Labels and badges of run and step states. */
import type { RunState, StepState } from '../../../everstep/src/contract/runs.js';
import type { IconName } from './icons.js';
import { StatusBadge, type Tone } from './status-badge.js';

interface Shown {
  readonly tone: Tone;
  readonly text: string;
  readonly icon?: IconName;
}

export const RUN_STATES: Readonly<Record<RunState, Shown>> = {
  RUN_STARTED: { tone: 'info', text: 'Running' },
  RUN_SUCCESS: { tone: 'good', text: 'Succeeded' },
  RUN_FAILED: { tone: 'bad', text: 'Failed' },
  RUN_CANCELED: { tone: 'quiet', text: 'Canceled', icon: 'stop' },
};

export const STEP_STATES: Readonly<Record<StepState, Shown>> = {
  STEP_SUCCESS: { tone: 'good', text: 'Succeeded' },
  STEP_PROGRESS: { tone: 'info', text: 'In progress' },
  STEP_RETRY: { tone: 'warn', text: 'Retrying' },
  STEP_FAILED: { tone: 'bad', text: 'Failed' },
  STEP_CANCELED: { tone: 'quiet', text: 'Canceled', icon: 'stop' },
};

function Badge({ tone, text, icon }: Shown) {
  return (
    <StatusBadge tone={tone} {...(icon === undefined ? {} : { icon })}>
      {text}
    </StatusBadge>
  );
}

export const RunStateBadge = ({ state }: { readonly state: RunState }) => <Badge {...RUN_STATES[state]} />;
export const StepStateBadge = ({ state }: { readonly state: StepState }) => <Badge {...STEP_STATES[state]} />;
