/** Converts the items that endpoints submit for their runs to submissions for the engine. */
import type { Caller } from '../../../accounts/tokens/caller.js';
import { InvalidFieldError } from '../../../dialects/frame-fields.js';
import type { Submission } from '../../../engine/runs/submissions.js';
import { requireScope } from '../../admission/authentication.js';
import type { ApiContext } from '../../operation.js';
import { headerText } from '../item-headers.js';
import { type BatchItem, kindOf } from '../messages/batch-items.js';
import { readCall, readInvoke } from './planned-reader.js';
import { readStep } from './step-reader.js';
import { checkVersion, runOverError, withStepRefusals } from './step-refusals.js';

const RUN_ID_HEADER = 'upstash-workflow-runid';

interface SubmittedSteps {
  done: Submission['done'];
  planned: Submission['planned'];
  createdAt?: number | undefined;
}

/** The steps that one request submits to a run. */
export interface RunSubmission {
  readonly submission: Submission;
  /** Time when the run was created, Unix ms, if the SDK states it. */
  readonly createdAt?: number;
}

function addItem(item: BatchItem, stepsByRun: Map<string, SubmittedSteps>, now: number): void {
  checkVersion(item.headers);
  const getOrCreateSteps = (workflowRunId: string): SubmittedSteps => {
    const steps = stepsByRun.get(workflowRunId) ?? { done: [], planned: [] };
    stepsByRun.set(workflowRunId, steps);
    return steps;
  };
  const kind = kindOf(item);
  if (kind === 'call' || kind === 'invoke') {
    const { workflowRunId, workflowCreatedAt, step } = kind === 'call' ? readCall(item) : readInvoke(item);
    const steps = getOrCreateSteps(workflowRunId);
    steps.createdAt ??= workflowCreatedAt;
    steps.planned = [...steps.planned, step];
    return;
  }
  const workflowRunId = headerText(item.headers, RUN_ID_HEADER);
  if (workflowRunId === undefined) throw new InvalidFieldError('the id of the run that the step belongs to is missing');
  const steps = getOrCreateSteps(workflowRunId);
  const submittedStep = readStep(item.body, now);
  if (submittedStep.kind === 'done') steps.done = [...steps.done, submittedStep.step];
  else steps.planned = [...steps.planned, submittedStep.step];
}

/** Returns one submission for each run. Steps that are planned together arrive in one request. */
export function readSubmissions(items: readonly BatchItem[], now: number): ReadonlyMap<string, RunSubmission> {
  return withStepRefusals(() => {
    const stepsByRun = new Map<string, SubmittedSteps>();
    for (const item of items) addItem(item, stepsByRun, now);
    return new Map(
      [...stepsByRun].map(([workflowRunId, { done, planned, createdAt }]) => [
        workflowRunId,
        {
          submission: { done, planned: [...planned].sort((a, b) => a.stepId - b.stepId) },
          ...(createdAt === undefined ? {} : { createdAt }),
        },
      ]),
    );
  });
}

/** Submits steps to a run. Resolves when the submission is durable. Rejects with ApiError `run-over`. */
export async function submit(
  workflowRunId: string,
  runSubmission: RunSubmission,
  { service }: Pick<ApiContext, 'service'>,
  caller: Pick<Caller, 'instanceId' | 'scopes'>,
): Promise<void> {
  requireScope(caller, 'write');
  const { instanceId } = caller;
  const outcome = await service.runs.submit({ instanceId, workflowRunId, ...runSubmission });
  if (outcome !== 'taken') throw runOverError();
}
