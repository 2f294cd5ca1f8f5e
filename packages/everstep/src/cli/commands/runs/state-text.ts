/** Formats the state of a run for a table. */
import type { FoundRun } from '@everstep/sdk';
import { printable, shorten } from '../../output.js';

const MAX_LENGTH = 60;

/** Returns what the run waits for; its state if it does not wait. */
export const stateText = ({ waiting, workflowState }: Pick<FoundRun, 'waiting' | 'workflowState'>): string =>
  waiting === undefined ? workflowState : shorten(printable(waiting.text), MAX_LENGTH);
