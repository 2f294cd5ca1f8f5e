/** Lists the next run times of a schedule, and starts its run manually. */

import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { ScheduleRunStarted, ScheduleTicks } from '../../../contract/schedules.js';
import type { Schedule } from '../../../engine/runs/run.js';
import { nextTicks } from '../../../engine/schedules/schedule.js';
import { allowRuns, allowSize, startAllowedRuns } from '../../admission/plan-limits.js';
import { change } from '../../audited/audit-rule.js';
import { type ApiContext, type Operation, operation, respond } from '../../operation.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { allowNamedObjects } from '../../quotas/named-objects.js';
import { SchedulePath, scheduleNotFound } from './schedules.js';

const TAG = 'Schedules';

/** Returns the number of runs that the schedule starts: one, or one for each endpoint of its URL group. */
export async function countRuns({ service }: ApiContext, { instanceId, settings }: Schedule): Promise<number> {
  const name = settings.message?.urlGroup;
  if (name === undefined) return 1;
  return (await service.urlGroups.find({ instanceId, name }))?.endpoints.length ?? 0;
}

const noEndpoints = (scheduleId: string): ApiError =>
  new ApiError('conflict', `the URL group of schedule ${quoteValue(scheduleId)} has no endpoints; add an endpoint first`);

const listScheduleTicks = operation({
  operationId: 'listScheduleTicks',
  tag: TAG,
  summary: 'List the next run times of a schedule',
  description: 'For a paused schedule, returns the times that it would have if it were resumed now.',
  method: 'GET',
  path: '/v2/schedules/{scheduleId}/next',
  unknownQuery: 'refuse',
  pathParameters: SchedulePath,
  query: Type.Object({
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.scheduleFiresMax,
        default: LIMITS.scheduleFiresDefault,
        description: 'Maximum number of times to return.',
      }),
    ),
  }),
  responses: { 200: ScheduleTicks },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { scheduleId }, query: { count } }, { reads, service }, { instanceId }) {
    const schedule = await reads.schedules.findSchedule({ instanceId, scheduleId });
    if (!schedule) throw scheduleNotFound(scheduleId);
    return respond(200, { fires: [...nextTicks(schedule, service.now(), count ?? LIMITS.scheduleFiresDefault)] });
  },
});

const runSchedule = operation({
  operationId: 'runSchedule',
  audit: change('schedule.run', 'scheduleId'),
  tag: TAG,
  summary: 'Start a run of a schedule now',
  description:
    'Starts one run with the payload and settings of the schedule, including its delay. A schedule of messages sends one message, or one for each endpoint of its URL group. Each run or message counts as a trigger, and the last one is shown as the last run of the schedule. The next run time does not change. A paused schedule stays paused.',
  method: 'POST',
  path: '/v2/schedules/{scheduleId}/run',
  unknownQuery: 'refuse',
  pathParameters: SchedulePath,
  responses: { 200: ScheduleRunStarted },
  errors: [
    'bad-parameter',
    'not-found',
    'conflict',
    'budget-exceeded',
    'storage-quota-exceeded',
    'too-many-flow-control-keys',
    'too-many-queues',
    'body-too-large',
    'daily-limit-reached',
    'too-many-active-runs',
  ],
  async handle({ path: { scheduleId } }, context, { instanceId }) {
    const { service, reads } = context;
    const schedule = await reads.schedules.findSchedule({ instanceId, scheduleId });
    if (!schedule) throw scheduleNotFound(scheduleId);
    allowSize(context, instanceId, schedule.payload.body);
    const runs = await countRuns(context, schedule);
    if (runs === 0) throw noEndpoints(scheduleId);
    await allowNamedObjects(context, instanceId, [schedule.settings]);
    const runAdmission = await allowRuns(context, instanceId, runs);
    const outcome = await startAllowedRuns(
      context,
      { instanceId, runs, runAdmission },
      () => service.schedules.run({ instanceId, scheduleId, admittedAt: runAdmission.at }),
      // This differs from the number admitted if the endpoints of the group have changed.
      (scheduleRun) => (scheduleRun.kind === 'started' ? scheduleRun.count : 0),
    );
    switch (outcome.kind) {
      case 'started': {
        const { workflowRunId, createdAt } = outcome.run;
        return respond(200, { workflowRunId, workflowCreatedAt: createdAt, started: outcome.count });
      }
      case 'no-endpoints':
        throw noEndpoints(scheduleId);
      case 'too-large':
        throw new ApiError('body-too-large', outcome.message);
      case 'not-found':
        throw scheduleNotFound(scheduleId);
    }
  },
});

export const scheduleRunOperations: readonly Operation[] = [listScheduleTicks, runSchedule];
