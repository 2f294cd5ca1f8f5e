/** Queue instances: the operations at `/v2/queue`. "Queue user ID" is the id of an instance. */

import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { REGIONS } from '../../config/regions.js';
import { ApiError } from '../../contract/error-codes.js';
import { AccountName, Ok, PlanRecord, QueueRecord, QueueStats, QueueUsage, RecordId } from '../../contract/management.js';
import { OWN_ENTRY, secretRead } from '../audited/audit-rule.js';
import { accountOperation, answer, type Operation } from '../operation.js';
import { parseDestination } from '../parameters/destination.js';
import { Unacceptable } from '../parameters/unacceptable.js';
import { Duration } from '../parameters/values.js';
import { BODY_ERRORS, CHANGE_ERRORS, done, given, jsonBody, OK } from './outcome.js';
import { presentDeleted, presentInstance, presentPlan, toSeconds } from './presenters.js';

const TAG = 'Queue instances';
const instanceId = RecordId('Id of the queue instance.');
const pathParameters = Type.Object({ id: instanceId });

const listQueues = accountOperation({
  operationId: 'listQueues',
  audit: secretRead('queue.read-tokens', { field: 'token' }),
  tag: TAG,
  summary: 'List the queue instances of all accounts that the user is in',
  method: 'GET',
  path: '/v2/queue/users',
  unknownQuery: 'ignore',
  responses: { 200: Type.Array(QueueRecord) },
  errors: [],
  async handle(_input, { accounts }, principal) {
    const [instances, deleted] = [await accounts.listInstances(principal), await accounts.listDeletedInstances(principal)];
    return answer(200, [...instances.map(presentInstance), ...deleted.map(presentDeleted)]);
  },
});

const createQueue = accountOperation({
  operationId: 'createQueue',
  audit: OWN_ENTRY,
  tag: TAG,
  summary: 'Create a queue instance',
  description: 'It belongs to the personal account of the user, or to a team.',
  method: 'POST',
  path: '/v2/queue/users',
  unknownQuery: 'refuse',
  body: jsonBody({
    name: AccountName('For people.'),
    region: Type.Enum([...REGIONS], { type: 'string', description: 'Where it lives.' }),
    team_id: Type.Optional(RecordId('The team that is to own it; absent: the personal account.')),
  }),
  responses: { 200: QueueRecord },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS, 'conflict'],
  async handle({ body }, { accounts }, principal) {
    const { name, region, team_id: teamId } = given(body);
    const outcome = await accounts.createInstance(principal, { name, region, ...(teamId === undefined ? {} : { teamId }) });
    return answer(200, presentInstance(done(outcome)));
  },
});

const getQueue = accountOperation({
  operationId: 'getQueue',
  audit: secretRead('queue.read-tokens', { field: 'token', subject: 'id' }),
  tag: TAG,
  summary: 'Get a queue instance, with its plan, its budget and, for those who may use it, its tokens',
  method: 'GET',
  path: '/v2/queue/user/{id}',
  unknownQuery: 'ignore',
  pathParameters,
  responses: { 200: QueueRecord },
  errors: ['bad-parameter', 'not-found'],
  handle: async ({ path }, { accounts }, principal) =>
    answer(200, presentInstance(done(await accounts.findInstance(principal, path.id)))),
});

const deleteQueue = accountOperation({
  operationId: 'deleteQueue',
  audit: OWN_ENTRY,
  tag: TAG,
  summary: 'Delete a queue instance with all its data',
  description:
    'From the moment this is answered the queue instance is not found, its tokens are refused, and nothing of it is delivered. Runs, messages, dead letters, schedules and settings are removed in the background; until that is done it is listed with the state `deleting`. What was billed for it and the audit log stay. For owners and admins of the account, and for operators. It cannot be undone.',
  method: 'DELETE',
  path: '/v2/queue/user/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  query: Type.Object({ confirm: AccountName('The name of the queue instance, exactly as it is.') }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, 'conflict'],
  async handle({ path, query }, { accounts }, principal) {
    done(await accounts.deleteInstance(principal, { instanceId: path.id, confirm: query.confirm }));
    return OK;
  },
});

const rotateQueueTokens = accountOperation({
  operationId: 'rotateQueueTokens',
  audit: OWN_ENTRY,
  tag: TAG,
  summary: 'Issue new tokens and revoke the old ones',
  description: 'The old tokens are refused from the moment this is answered.',
  method: 'POST',
  path: '/v2/queue/rotate-token/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  responses: { 200: QueueRecord },
  errors: CHANGE_ERRORS,
  handle: async ({ path }, { accounts }, principal) =>
    answer(200, presentInstance(done(await accounts.rotateTokens(principal, path.id)))),
});

const moveQueueToTeam = accountOperation({
  operationId: 'moveQueueToTeam',
  audit: OWN_ENTRY,
  tag: TAG,
  summary: 'Move a queue instance to a team',
  description:
    'Runs, dead letters, schedules and tokens stay as they are and go on working. From now on usage is billed to the team, whose members see the instance. Needs rights on both sides; to a personal account is not supported.',
  method: 'POST',
  path: '/v2/queue/move-to-team',
  unknownQuery: 'refuse',
  body: jsonBody({ queue_id: instanceId, target_team_id: RecordId('Id of the team.') }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS, 'conflict'],
  async handle({ body }, { accounts }, principal) {
    const { queue_id, target_team_id } = given(body);
    done(await accounts.moveToTeam(principal, { instanceId: queue_id, teamId: target_team_id }));
    return OK;
  },
});

const updateQueueBudget = accountOperation({
  operationId: 'updateQueueBudget',
  audit: OWN_ENTRY,
  tag: TAG,
  summary: 'Change the monthly budget of a queue instance',
  description: `Dollars for a calendar month (UTC): 0 for no limit, or ${LIMITS.minBudgetDollars} to ${LIMITS.maxBudgetDollars}. Over it, new runs, messages and schedules are refused; runs that have started finish.`,
  method: 'PATCH',
  path: '/v2/queue/update-budget/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  body: jsonBody({
    budget: Type.Integer({
      minimum: 0,
      maximum: LIMITS.maxBudgetDollars,
      description: `Dollars a month; 0: no limit; 1 to ${LIMITS.minBudgetDollars - 1} is refused.`,
    }),
  }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS],
  async handle({ path, body }, { accounts }, principal) {
    done(await accounts.setBudget(principal, { instanceId: path.id, dollars: given(body).budget }));
    return OK;
  },
});

const setQueueBudgetAlert = accountOperation({
  operationId: 'setQueueBudgetAlert',
  audit: OWN_ENTRY,
  tag: TAG,
  summary: 'Set the URL that is told when 80 % and 100 % of the budget are spent',
  method: 'POST',
  path: '/v2/queue/set-budget-alert/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  body: jsonBody({
    url: Type.Union([Type.String({ minLength: 1, maxLength: LIMITS.maxWorkflowUrlLength }), Type.Null()], {
      description: 'An absolute http or https URL; null takes it away.',
    }),
  }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS, 'bad-url', 'blocked-address'],
  async handle({ path, body }, { accounts, addressPolicy }, principal) {
    const { url } = given(body);
    const alertUrl = url === null ? null : readAlertUrl(url);
    const allowed = alertUrl === null ? null : addressPolicy?.check(alertUrl, path.id);
    if (allowed && !allowed.ok) throw new ApiError('blocked-address', `the body.url may not be called: ${allowed.message}`);
    done(await accounts.setBudgetAlert(principal, { instanceId: path.id, url: alertUrl }));
    return OK;
  },
});

const setQueuePlan = accountOperation({
  operationId: 'setQueuePlan',
  audit: OWN_ENTRY,
  tag: TAG,
  summary: 'Set the plan of a queue instance',
  description: 'For the operator of the installation alone, whoever owns the instance.',
  method: 'POST',
  path: '/v2/queue/set-plan/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  body: jsonBody({ plan_name: AccountName('One of the plans that are listed.') }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS],
  async handle({ path, body }, { accounts }, principal) {
    done(await accounts.setPlan(principal, { instanceId: path.id, plan: given(body).plan_name }));
    return OK;
  },
});

const getQueueStats = accountOperation({
  operationId: 'getQueueStats',
  tag: TAG,
  summary: 'What a queue instance has used, its budget, and what is refused',
  method: 'GET',
  path: '/v2/queue/stats/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  query: Type.Object({
    period: Type.Optional(
      Duration(
        { leastMs: LIMITS.minStatsPeriodMs, mostMs: LIMITS.maxStatsPeriodMs },
        { description: 'How far back to look, 1h to 30d; the months that it touches are told. Absent: 30d.' },
      ),
    ),
  }),
  responses: { 200: QueueStats },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path, query }, { accounts }, principal) {
    const { instance } = done(await accounts.findInstance(principal, path.id));
    const periodMs = query.period ?? LIMITS.maxStatsPeriodMs;
    const stats = done(await accounts.stats(principal, { instanceId: path.id, periodMs }));
    return answer(200, {
      id: instance.instanceId,
      customer_id: instance.accountId ?? '',
      months: stats.months.map(({ month, messages, dollars }) => ({ month, messages, dollars })),
      budget: stats.budgetDollars,
      spent: stats.spentDollars,
      storage: {
        instance_bytes: stats.storage.instanceBytes,
        account_bytes: stats.storage.accountBytes,
        max_bytes: stats.storage.maxBytes,
        active_runs: stats.storage.activeRuns,
        max_active_runs: stats.storage.maxActiveRuns,
      },
      refused: [...stats.refused],
      requests_today: stats.requestsToday,
      refusals: stats.refusals.map(({ kind, count, lastAt }) => ({ kind, count, last_time: toSeconds(lastAt) })),
    });
  },
});

const getQueueUsage = accountOperation({
  operationId: 'getQueueUsage',
  tag: TAG,
  summary: 'What a queue instance has used by day, beside its budget',
  description:
    'Messages in the unit that is billed, by day (UTC), with what they cost when they were counted. They are counted by day since the version that has this operation; before, by month.',
  method: 'GET',
  path: '/v2/queue/usage/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  query: Type.Object({
    days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.maxUsageDays,
        default: LIMITS.usageDaysDefault,
        description: 'How many days, today included.',
      }),
    ),
  }),
  responses: { 200: QueueUsage },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path, query }, { accounts }, principal) {
    const { instance } = done(await accounts.findInstance(principal, path.id));
    const days = query.days ?? LIMITS.usageDaysDefault;
    const usage = done(await accounts.usage(principal, { instanceId: path.id, days }));
    return answer(200, {
      id: instance.instanceId,
      customer_id: instance.accountId ?? '',
      days: usage.days.map(({ day, messages, dollars }) => ({ day, messages, dollars })),
      budget: usage.budgetDollars,
      spent_this_month: usage.spentDollars,
    });
  },
});

const listPlans = accountOperation({
  operationId: 'listPlans',
  tag: TAG,
  summary: 'List the plans',
  method: 'GET',
  path: '/v2/queue/plans',
  unknownQuery: 'ignore',
  responses: { 200: Type.Array(PlanRecord) },
  errors: [],
  handle: (_input, { accounts }) => answer(200, accounts.plans().map(presentPlan)),
});

function readAlertUrl(url: string): string {
  try {
    return parseDestination(url);
  } catch (error) {
    if (error instanceof Unacceptable) throw new ApiError(error.code ?? 'bad-body', `the body.url ${error.message}`);
    throw error;
  }
}

export const queueOperations: readonly Operation[] = [
  listQueues,
  createQueue,
  getQueue,
  deleteQueue,
  rotateQueueTokens,
  moveQueueToTeam,
  updateQueueBudget,
  setQueueBudgetAlert,
  setQueuePlan,
  getQueueStats,
  getQueueUsage,
  listPlans,
];
