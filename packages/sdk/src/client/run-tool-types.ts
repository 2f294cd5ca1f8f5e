/** What helps to put one run right: fork, compare, lineage, check. All times are Unix ms. */
import type { StepType } from '../protocol.js';
import type { RepairFilter } from './repair-types.js';
import type { RunReference, RunState } from './types.js';

/** What a fork goes on with; everything but the step is as it was in the run when it is absent. */
export interface ForkOptions {
  /** Creation of the run; the latest of its id when absent. */
  readonly createdAt?: number;
  /** Position of a step: what was recorded before it is kept, and it and the rest is done again. */
  readonly fromStep: number;
  /** What the new run is triggered with. */
  readonly input?: { readonly body: string; readonly contentType?: string };
  /** Results of steps that are kept, or of `fromStep` itself, which is then not done. Without `result`: none. */
  readonly results?: readonly { readonly stepId: number; readonly result?: unknown }[];
  readonly newWorkflowRunId?: string;
  /** Why, for the run and the audit log. */
  readonly note?: string;
}

export interface CompareOptions {
  readonly createdAt?: number;
  /** Id of the run to compare with; the last of the same workflow that succeeded when absent. */
  readonly with?: string;
  readonly withCreatedAt?: number;
}

export interface ComparedRun extends RunReference {
  readonly workflowUrl: string;
  readonly workflowState: RunState;
}

export interface ComparedStep {
  readonly stepId: number;
  /** JSON text; absent when there is no result, and where both are the same. */
  readonly out?: string;
  /** Bytes of a result that is left out because it is long; `runs.step` returns it. */
  readonly outLeftOut?: number;
  /** The result was given in a fork. */
  readonly edited?: true;
}

export interface RunDifference {
  readonly kind: 'input' | 'step' | 'result' | 'outcome' | 'length';
  /** Place in `steps`; null when it is not about a step. */
  readonly index: number | null;
  readonly left: string | null;
  readonly right: string | null;
  readonly message: string;
}

export interface RunComparison {
  readonly left: ComparedRun;
  readonly right: ComparedRun;
  /** Null when they are the same, as far as what they hide lets one see. */
  readonly firstDifference: RunDifference | null;
  /** Where they first differ in each way, the first difference first; the outcome only when they have the same steps. */
  readonly differences: readonly RunDifference[];
  /** Recorded steps of both, in the order in which the code asked for them. */
  readonly steps: readonly {
    readonly index: number;
    readonly stepName: string;
    readonly stepType: 'Initial' | StepType;
    readonly left: ComparedStep | null;
    readonly right: ComparedStep | null;
    readonly same: boolean;
  }[];
  /** The runs have more steps than one answer compares; the first ones are compared. */
  readonly shortened?: true;
}

/** A run that another one came of, or that came of it. */
export interface RunRelative extends Partial<RunReference> {
  readonly kind: 'resume' | 'restart' | 'fork' | 'invoke' | 'schedule';
  /** Absent when the run was removed. */
  readonly workflowState?: RunState;
  /** The step that invoked, or from which the fork goes on. */
  readonly stepId?: number;
  readonly stepName?: string;
  readonly scheduleId?: string;
  readonly note?: string;
  /** Of a descendant: what it came of. */
  readonly of?: RunReference;
}

export interface RunLineage {
  /** Nearest first; at most 100. */
  readonly ancestors: readonly RunRelative[];
  readonly descendants: readonly RunRelative[];
  /** False: there are more. */
  readonly complete: boolean;
}

/** Whether the present code of a run's endpoint would replay it. */
export interface RunCheck extends RunReference {
  readonly dlqId: string | null;
  readonly outcome: 'fits' | 'differs' | 'cannot-tell';
  /** Where it differs. */
  readonly stepId: number | null;
  readonly stepName: string | null;
  readonly message: string;
}

export interface DeadLetterCheckOptions {
  readonly filter?: RepairFilter;
  /** Entries to ask about in one request, 1 to 100. */
  readonly count?: number;
  readonly cursor?: string;
}

export interface DeadLetterCheckPage {
  /** Empty at the end. */
  readonly cursor: string;
  readonly checks: readonly RunCheck[];
}
