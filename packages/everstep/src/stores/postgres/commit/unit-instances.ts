/** Of which queue instance a unit is: nothing that it guards or writes is of another one, but for the audit log. */
import type { CommitUnit, StoreGuard, StoreWrite } from '../../../ports/stores/store.js';

/** The instance itself, or a run of it; null where nothing tells. */
type Belonging = { readonly instanceId: string } | { readonly runKey: string } | null;

function belongingOf(part: StoreGuard | StoreWrite): Belonging {
  switch (part.kind) {
    case 'create-run':
      return part.run;
    case 'copy-journal':
      return { runKey: part.toRunKey };
    case 'stage-journal':
      return { runKey: part.fromRunKey };
    case 'wake-invoker':
      return { runKey: part.childRunKey };
    case 'add-dead-letter':
      return part.entry;
    case 'put-schedule':
      return part.schedule;
    case 'add-audit':
      return null;
    default:
      return part;
  }
}

/** `ofRun`: the instance of a run, null when there is no such run. */
export function instanceOfUnit({ guards, writes }: CommitUnit, ofRun: (runKey: string) => string | null): string | null {
  for (const parts of [writes, guards]) {
    for (const part of parts) {
      const belonging = belongingOf(part);
      if (belonging === null) continue;
      const instanceId = 'instanceId' in belonging ? belonging.instanceId : ofRun(belonging.runKey);
      if (instanceId !== null) return instanceId;
    }
  }
  return null;
}
