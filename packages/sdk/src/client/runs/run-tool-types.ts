/** Tools for a single run: fork, compare, lineage, check. Times are Unix milliseconds. */
import type { StepType } from '../../protocol.js';
import type { RepairFilter } from '../dead-letters/repair-types.js';
import type { RunReference, RunState } from '../types.js';

/** Options of a fork. Apart from `fromStep`, absent options keep the value of the original run. */
export interface ForkOptions {
  /** Creation time of the run. Default: the latest run with this id. */
  readonly createdAt?: number;
  /** Position of a step. Steps recorded before it are kept; this step and the following ones run again. */
  readonly fromStep: number;
  /** Input of the new run. */
  readonly input?: { readonly body: string; readonly contentType?: string };
  /** New results of kept steps, or of `fromStep` itself, which then does not run. Without `result`: no result. */
  readonly results?: readonly { readonly stepId: number; readonly result?: unknown }[];
  readonly newWorkflowRunId?: string;
  /** Reason, for the run and the audit log. */
  readonly note?: string;
}

/** Options of a comparison of two runs. */
export interface CompareOptions {
  readonly createdAt?: number;
  /** Id of the run to compare with. Default: the latest successful run of the same workflow. */
  readonly with?: string;
  readonly withCreatedAt?: number;
}

/** One side of a comparison. */
export interface ComparedRun extends RunReference {
  readonly workflowUrl: string;
  readonly workflowState: RunState;
}

/** A recorded step of one side of a comparison. */
export interface ComparedStep {
  readonly stepId: number;
  /** Result as JSON text; absent if there is no result, and if both results are equal. */
  readonly out?: string;
  /** Size in bytes of a result that is too long for this response; `runs.step` returns it. */
  readonly outLeftOut?: number;
  /** The result was edited in a fork. */
  readonly edited?: true;
}

/** A difference between two runs. */
export interface RunDifference {
  readonly kind: 'input' | 'step' | 'result' | 'outcome' | 'length';
  /** Index in `steps`; null if the difference does not concern a step. */
  readonly index: number | null;
  readonly left: string | null;
  readonly right: string | null;
  readonly message: string;
}

/** Result of a comparison of two runs. */
export interface RunComparison {
  readonly left: ComparedRun;
  readonly right: ComparedRun;
  /** Null if the runs are equal, as far as redacted data allows a comparison. */
  readonly firstDifference: RunDifference | null;
  /** The first difference of each kind, in order; the outcome only if both runs have the same steps. */
  readonly differences: readonly RunDifference[];
  /** Recorded steps of both runs, in the order in which the code requested them. */
  readonly steps: readonly {
    readonly index: number;
    readonly stepName: string;
    readonly stepType: 'Initial' | StepType;
    readonly left: ComparedStep | null;
    readonly right: ComparedStep | null;
    readonly same: boolean;
  }[];
  /** The runs have more steps than one response compares; only the first ones are compared. */
  readonly shortened?: true;
}

/** An ancestor or a descendant of a run. */
export interface RunRelative extends Partial<RunReference> {
  readonly kind: 'resume' | 'restart' | 'fork' | 'invoke' | 'schedule';
  /** Absent if the run was removed. */
  readonly workflowState?: RunState;
  /** The step that invoked the run, or from which the fork continues. */
  readonly stepId?: number;
  readonly stepName?: string;
  readonly scheduleId?: string;
  readonly note?: string;
  /** For a descendant: its parent run. */
  readonly of?: RunReference;
}

/** The ancestors and descendants of a run. */
export interface RunLineage {
  /** Nearest first; at most 100. */
  readonly ancestors: readonly RunRelative[];
  readonly descendants: readonly RunRelative[];
  /** False: there are more relatives. */
  readonly complete: boolean;
}

/** Whether the current code of a run's endpoint would replay the run. */
export interface RunCheck extends RunReference {
  readonly dlqId: string | null;
  readonly outcome: 'fits' | 'differs' | 'cannot-tell';
  /** First step that differs. */
  readonly stepId: number | null;
  readonly stepName: string | null;
  readonly message: string;
}

/** Options of a check of dead letters. */
export interface DeadLetterCheckOptions {
  readonly filter?: RepairFilter;
  /** Number of entries to check in one request, 1 to 100. */
  readonly count?: number;
  readonly cursor?: string;
}

/** One page of checks of dead letters. */
export interface DeadLetterCheckPage {
  /** Empty at the end. */
  readonly cursor: string;
  readonly checks: readonly RunCheck[];
}
