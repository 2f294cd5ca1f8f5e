/** Determines the type of a step that is planned but not recorded. */
import type { StepType } from '@everstep/sdk/protocol';
import type { StepTask } from './run.js';

export function stepTypeOf(task: StepTask): StepType {
  switch (task.kind) {
    case 'sleep':
    case 'wait':
      return task.stepType;
    case 'call':
      return 'Call';
    case 'notify':
      return 'Notify';
    case 'invoke':
      return 'Invoke';
    case 'step':
      return task.stepType ?? 'Run';
  }
}
