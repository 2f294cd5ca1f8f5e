/** Compares two runs, and lists the ancestors and descendants of a run. */
import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { type Relative, RunComparison, RunLineage } from '../../../contract/run-tools.js';
import type { RunRecord } from '../../../ports/stores/store.js';
import { operation, respond } from '../../operation.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { Text, UnixMs } from '../../parameters/values.js';
import { comparisonOf } from '../../presenters/comparison.js';
import { optional } from '../../presenters/optional.js';
import { presentReference, stateOfRun } from '../../presenters/run.js';
import { comparisonBytes, readComparedRun } from '../../read-models/compared-runs.js';
import type { RunReads } from '../../read-models/reads.js';
import { RunIdPath, requireRun, workflowCreatedAt } from './runs.js';

/** Returns the latest other run of the same workflow that succeeded. */
async function findLastSuccessfulRun(store: RunReads, run: RunRecord): Promise<RunRecord> {
  const { items } = await store.listRuns({
    instanceId: run.instanceId,
    filter: { workflowUrls: [run.workflowUrl], statuses: ['succeeded'] },
    order: 'newest-first',
    after: null,
    horizon: null,
    limit: 2,
  });
  const successfulRun = items.find(({ key }) => key !== run.key);
  if (successfulRun) return successfulRun;
  const message = `no other run of the workflow ${quoteValue(run.workflowUrl)} has succeeded; name the run to compare with in the query parameter "with"`;
  throw new ApiError('not-found', message);
}

export const compareRuns = operation({
  operationId: 'compareRuns',
  showsPayloads: true,
  tag: 'Runs',
  summary: 'Compare two runs',
  description:
    'Without `with`, compares the run with the latest successful run of the same workflow. Steps are matched by type and name. Values that one of the runs redacts are redacted in both and count as equal.',
  method: 'GET',
  path: '/v2/workflows/runs/{workflowRunId}/compare',
  unknownQuery: 'refuse',
  pathParameters: RunIdPath,
  query: Type.Object({
    createdAt: workflowCreatedAt,
    with: Type.Optional(Text(LIMITS.maxRunIdLength, { description: 'Id of the run to compare with.' })),
    withCreatedAt: Type.Optional(
      UnixMs('Creation time of the run to compare with, in Unix milliseconds. Default: the latest run with the id.'),
    ),
  }),
  responses: { 200: RunComparison },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { workflowRunId }, query, request }, { reads }, { instanceId }) {
    const { with: otherRunId, withCreatedAt, createdAt } = query;
    if (otherRunId === undefined && withCreatedAt !== undefined)
      throw new ApiError('bad-parameter', 'the query parameter "withCreatedAt" requires "with", which is missing');
    const run = await requireRun(reads.runs, { instanceId, workflowRunId, createdAt });
    const otherRun =
      otherRunId === undefined
        ? await findLastSuccessfulRun(reads.runs, run)
        : await requireRun(reads.runs, { instanceId, workflowRunId: otherRunId, createdAt: withCreatedAt });
    await request.reserve((await comparisonBytes(reads.runs, run)) + (await comparisonBytes(reads.runs, otherRun)));
    const [left, right] = [await readComparedRun(reads.runs, run), await readComparedRun(reads.runs, otherRun)];
    return respond(200, await comparisonOf(left.comparedRun, right.comparedRun, !left.isWhole || !right.isWhole));
  },
});

/** Returns how the run was created from another run, or null when it was triggered. */
function originOf({ origin }: RunRecord): Pick<Relative, 'kind' | 'stepId' | 'stepName' | 'note'> | null {
  switch (origin?.kind) {
    case 'invoke':
      return { kind: origin.kind, stepId: origin.stepId, stepName: origin.stepName };
    case 'fork':
      return { kind: origin.kind, stepId: origin.stepId, ...optional('note', origin.note) };
    case 'resume':
    case 'restart':
      return { kind: origin.kind };
    default:
      return null;
  }
}

interface Relatives {
  readonly relatives: Relative[];
  readonly isComplete: boolean;
}

async function ancestorsOf(store: RunReads, run: RunRecord): Promise<Relatives> {
  const relatives: Relative[] = [];
  let descendant: RunRecord | null = run;
  while (descendant?.origin) {
    if (relatives.length === LIMITS.maxRelatives) return { relatives, isComplete: false };
    const { origin }: RunRecord = descendant;
    if (origin.kind === 'schedule') {
      relatives.push({ kind: 'schedule', scheduleId: origin.scheduleId });
      break;
    }
    const relation = originOf(descendant);
    const ancestor: RunRecord | null = await store.findRun({ runKey: origin.runKey });
    const { workflowRunId, workflowCreatedAt: createdAt } = origin;
    if (relation) {
      relatives.push({
        ...relation,
        workflowRunId,
        workflowCreatedAt: createdAt,
        ...(ancestor ? { workflowState: stateOfRun(ancestor.status) } : {}),
      });
    }
    descendant = ancestor;
  }
  return { relatives, isComplete: true };
}

/** Collects descendants generation by generation. */
async function descendantsOf(store: RunReads, run: RunRecord): Promise<Relatives> {
  const relatives: Relative[] = [];
  const parents: RunRecord[] = [run];
  for (const parent of parents) {
    const remaining = LIMITS.maxRelatives - relatives.length;
    // One extra child is read to find out whether the listing is complete.
    const children = await store.listDescendants({ runKey: parent.key, limit: remaining + 1 });
    for (const child of children.slice(0, remaining)) {
      const relation = originOf(child);
      if (!relation) continue;
      relatives.push({
        ...relation,
        ...presentReference(child),
        workflowState: stateOfRun(child.status),
        of: presentReference(parent),
      });
      parents.push(child);
    }
    if (children.length > remaining) return { relatives, isComplete: false };
  }
  return { relatives, isComplete: true };
}

export const getRunLineage = operation({
  operationId: 'getRunLineage',
  tag: 'Runs',
  summary: 'List the ancestors and descendants of a run',
  description: `Follows resumes, restarts, forks, invocations and schedules. Returns at most ${LIMITS.maxRelatives} runs in each direction, nearest first.`,
  method: 'GET',
  path: '/v2/workflows/runs/{workflowRunId}/lineage',
  unknownQuery: 'refuse',
  pathParameters: RunIdPath,
  query: Type.Object({ createdAt: workflowCreatedAt }),
  responses: { 200: RunLineage },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { workflowRunId }, query: { createdAt } }, { reads }, { instanceId }) {
    const run = await requireRun(reads.runs, { instanceId, workflowRunId, createdAt });
    const [ancestors, descendants] = [await ancestorsOf(reads.runs, run), await descendantsOf(reads.runs, run)];
    return respond(200, {
      ancestors: ancestors.relatives,
      descendants: descendants.relatives,
      complete: ancestors.isComplete && descendants.isComplete,
    });
  },
});
