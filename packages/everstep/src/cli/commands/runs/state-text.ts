/** The state of a run in a table. */
import type { FoundRun } from '@everstep/sdk';
import { printable, shorten } from '../../output.js';

const MAX_LENGTH = 60;

/** Returns what an active run waits for, otherwise its state. */
export const stateText = ({ waiting, workflowState }: Pick<FoundRun, 'waiting' | 'workflowState'>): string =>
  waiting === undefined ? workflowState : shorten(printable(waiting.text), MAX_LENGTH);
