/** Operations of queue instances at `/v2/queue`. The specification calls the id of an instance "queue user id". */

import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { REGIONS } from '../../config/regions.js';
import { ApiError } from '../../contract/error-codes.js';
import { AccountName, InstanceRecord, InstanceUsage, Ok, PlanRecord, QueueStats, RecordId } from '../../contract/management.js';
import { secretRead, WRITES_OWN_ENTRY } from '../audited/audit-rule.js';
import { accountOperation, type Operation, respond } from '../operation.js';
import { parseDestination } from '../parameters/destination.js';
import { InvalidValueError } from '../parameters/value-errors.js';
import { Duration } from '../parameters/values.js';
import { BODY_ERRORS, CHANGE_ERRORS, jsonBody, OK, requiredBody, valueOrThrow } from './outcome.js';
import { presentDeletedInstance, presentInstance, presentPlan, toSeconds } from './presenters.js';

const TAG = 'Queue instances';
const InstanceId = RecordId('Id of the queue instance.');
const pathParameters = Type.Object({ id: InstanceId });

const listInstances = accountOperation({
  operationId: 'listInstances',
  audit: secretRead('queue.read-tokens', { field: 'token' }),
  tag: TAG,
  summary: 'List queue instances',
  description: 'Returns the queue instances of all accounts that the user belongs to, including those that are being deleted.',
  method: 'GET',
  path: '/v2/queue/users',
  unknownQuery: 'ignore',
  responses: { 200: Type.Array(InstanceRecord) },
  errors: [],
  async handle(_input, { accounts }, principal) {
    const [instances, deletedInstances] = [
      await accounts.listInstances(principal),
      await accounts.listDeletedInstances(principal),
    ];
    return respond(200, [...instances.map(presentInstance), ...deletedInstances.map(presentDeletedInstance)]);
  },
});

const createInstance = accountOperation({
  operationId: 'createInstance',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Create a queue instance',
  description: 'Creates an instance that belongs to the personal account of the user or to a team.',
  method: 'POST',
  path: '/v2/queue/users',
  unknownQuery: 'refuse',
  body: jsonBody({
    name: AccountName('Display name of the instance.'),
    region: Type.Enum([...REGIONS], { type: 'string', description: 'Region of the instance.' }),
    team_id: Type.Optional(RecordId('Id of the team that owns the instance. Default: the personal account.')),
  }),
  responses: { 200: InstanceRecord },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS, 'conflict'],
  async handle({ body }, { accounts }, principal) {
    const { name, region, team_id: teamId } = requiredBody(body);
    const outcome = await accounts.createInstance(principal, { name, region, ...(teamId === undefined ? {} : { teamId }) });
    return respond(200, presentInstance(valueOrThrow(outcome)));
  },
});

const getInstance = accountOperation({
  operationId: 'getInstance',
  audit: secretRead('queue.read-tokens', { field: 'token', subject: 'id' }),
  tag: TAG,
  summary: 'Get a queue instance',
  description: 'Returns the instance with its plan and budget. Users who may use the instance also get its tokens.',
  method: 'GET',
  path: '/v2/queue/user/{id}',
  unknownQuery: 'ignore',
  pathParameters,
  responses: { 200: InstanceRecord },
  errors: ['bad-parameter', 'not-found'],
  handle: async ({ path }, { accounts }, principal) =>
    respond(200, presentInstance(valueOrThrow(await accounts.findInstance(principal, path.id)))),
});

const deleteInstance = accountOperation({
  operationId: 'deleteInstance',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Delete a queue instance',
  description:
    'The queue instance can no longer be found, its tokens are rejected, and nothing more is delivered for it. Everstep removes runs, messages, dead letters, schedules and settings in the background; until then the instance is listed with the state `deleting`. Billing records and the audit log are kept. Only for owners and admins of the account, and for operators. Cannot be undone.',
  method: 'DELETE',
  path: '/v2/queue/user/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  query: Type.Object({ confirm: AccountName('Exact name of the queue instance, as a confirmation.') }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, 'conflict'],
  async handle({ path, query }, { accounts }, principal) {
    valueOrThrow(await accounts.deleteInstance(principal, { instanceId: path.id, confirm: query.confirm }));
    return OK;
  },
});

const rotateInstanceTokens = accountOperation({
  operationId: 'rotateInstanceTokens',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Rotate the tokens of a queue instance',
  description: 'Creates new tokens and revokes the old ones. The old tokens are rejected immediately.',
  method: 'POST',
  path: '/v2/queue/rotate-token/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  responses: { 200: InstanceRecord },
  errors: CHANGE_ERRORS,
  handle: async ({ path }, { accounts }, principal) =>
    respond(200, presentInstance(valueOrThrow(await accounts.rotateTokens(principal, path.id)))),
});

const moveInstanceToTeam = accountOperation({
  operationId: 'moveInstanceToTeam',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Move a queue instance to a team',
  description:
    'Runs, dead letters, schedules and tokens keep working. From then on, usage is billed to the team, and the members of the team can see the instance. Requires rights in both accounts. An instance cannot be moved to a personal account.',
  method: 'POST',
  path: '/v2/queue/move-to-team',
  unknownQuery: 'refuse',
  body: jsonBody({ queue_id: InstanceId, target_team_id: RecordId('Id of the team that receives the instance.') }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS, 'conflict'],
  async handle({ body }, { accounts }, principal) {
    const { queue_id, target_team_id } = requiredBody(body);
    valueOrThrow(await accounts.moveToTeam(principal, { instanceId: queue_id, teamId: target_team_id }));
    return OK;
  },
});

const updateInstanceBudget = accountOperation({
  operationId: 'updateInstanceBudget',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Update the monthly budget of a queue instance',
  description: `Sets the budget in dollars per calendar month (UTC): 0 for no limit, or ${LIMITS.minBudgetDollars} to ${LIMITS.maxBudgetDollars}. When the budget is spent, new runs, messages and schedules are rejected. Runs that have started continue.`,
  method: 'PATCH',
  path: '/v2/queue/update-budget/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  body: jsonBody({
    budget: Type.Integer({
      minimum: 0,
      maximum: LIMITS.maxBudgetDollars,
      description: `Budget in dollars per month. 0 means no limit. Values from 1 to ${LIMITS.minBudgetDollars - 1} are rejected.`,
    }),
  }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS],
  async handle({ path, body }, { accounts }, principal) {
    valueOrThrow(await accounts.setBudget(principal, { instanceId: path.id, dollars: requiredBody(body).budget }));
    return OK;
  },
});

const setInstanceBudgetAlert = accountOperation({
  operationId: 'setInstanceBudgetAlert',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Set the budget alert URL of a queue instance',
  description: 'Everstep notifies the URL when 80% and 100% of the budget are spent.',
  method: 'POST',
  path: '/v2/queue/set-budget-alert/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  body: jsonBody({
    url: Type.Union([Type.String({ minLength: 1, maxLength: LIMITS.maxWorkflowUrlLength }), Type.Null()], {
      description: 'Absolute http or https URL. Null removes the alert.',
    }),
  }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS, 'bad-url', 'blocked-address'],
  async handle({ path, body }, { accounts, destinationPolicy }, principal) {
    const { url } = requiredBody(body);
    const alertUrl = url === null ? null : readAlertUrl(url);
    const verdict = alertUrl === null ? null : destinationPolicy?.check(alertUrl, path.id);
    if (verdict && !verdict.ok) throw new ApiError('blocked-address', `body.url is not allowed: ${verdict.message}`);
    valueOrThrow(await accounts.setBudgetAlert(principal, { instanceId: path.id, url: alertUrl }));
    return OK;
  },
});

const setInstancePlan = accountOperation({
  operationId: 'setInstancePlan',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Set the plan of a queue instance',
  description: 'Only for operators of the installation, who do not need a role in the account.',
  method: 'POST',
  path: '/v2/queue/set-plan/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  body: jsonBody({ plan_name: AccountName('Name of a plan that `listPlans` returns.') }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS],
  async handle({ path, body }, { accounts }, principal) {
    valueOrThrow(await accounts.setPlan(principal, { instanceId: path.id, plan: requiredBody(body).plan_name }));
    return OK;
  },
});

const getInstanceStats = accountOperation({
  operationId: 'getInstanceStats',
  tag: TAG,
  summary: 'Get the statistics of a queue instance',
  description: 'Returns usage by month, the budget, storage, and requests that were rejected.',
  method: 'GET',
  path: '/v2/queue/stats/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  query: Type.Object({
    period: Type.Optional(
      Duration(
        { minMs: LIMITS.minStatsPeriodMs, maxMs: LIMITS.maxStatsPeriodMs },
        {
          description:
            'Length of the period, which ends now: 1h to 30d. The response contains every month that the period overlaps. Default: 30d.',
        },
      ),
    ),
  }),
  responses: { 200: QueueStats },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path, query }, { accounts }, principal) {
    const { instance } = valueOrThrow(await accounts.findInstance(principal, path.id));
    const periodMs = query.period ?? LIMITS.maxStatsPeriodMs;
    const stats = valueOrThrow(await accounts.stats(principal, { instanceId: path.id, periodMs }));
    return respond(200, {
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

const getInstanceUsage = accountOperation({
  operationId: 'getInstanceUsage',
  tag: TAG,
  summary: 'Get the daily usage of a queue instance',
  description:
    'Returns the billed messages of each day (UTC), priced at the time they were counted, and the budget. Days before the upgrade to a version with this operation are 0, because earlier versions counted by month.',
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
        description: 'Number of days, including today.',
      }),
    ),
  }),
  responses: { 200: InstanceUsage },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path, query }, { accounts }, principal) {
    const { instance } = valueOrThrow(await accounts.findInstance(principal, path.id));
    const days = query.days ?? LIMITS.usageDaysDefault;
    const usage = valueOrThrow(await accounts.usage(principal, { instanceId: path.id, days }));
    return respond(200, {
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
  description: 'Returns the plans of the installation with their limits.',
  method: 'GET',
  path: '/v2/queue/plans',
  unknownQuery: 'ignore',
  responses: { 200: Type.Array(PlanRecord) },
  errors: [],
  handle: (_input, { accounts }) => respond(200, accounts.plans().map(presentPlan)),
});

function readAlertUrl(url: string): string {
  try {
    return parseDestination(url);
  } catch (error) {
    if (error instanceof InvalidValueError) throw new ApiError(error.code ?? 'bad-body', `body.url ${error.message}`);
    throw error;
  }
}

export const instanceOperations: readonly Operation[] = [
  listInstances,
  createInstance,
  getInstance,
  deleteInstance,
  rotateInstanceTokens,
  moveInstanceToTeam,
  updateInstanceBudget,
  setInstanceBudgetAlert,
  setInstancePlan,
  getInstanceStats,
  getInstanceUsage,
  listPlans,
];
