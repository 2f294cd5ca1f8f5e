/**
 * Expected responses of each operation by caller. Every operation of all APIs needs a row; a new one without a row fails
 * the test. A missing or invalid credential always gets 401 and needs no row.
 * Keeps invariant 39.
 */
import { apiKeyOf, emailOf, type Person } from '../../accounts/people.fixture.js';
import { REGION, SDK } from './isolation-objects.js';
import type { AccountRow, IndexRow, MakeRequest, OpenRow, Row, TokenRow } from './isolation-rows.js';

const noParameters: MakeRequest = () => ({});
/** Selects the dialect if another operation has the same path. */
const UPSTASH = { 'upstash-telemetry-sdk': 'test' };
/** Reads objects of the instance of the token: each token sees its own. */
const readsOwn = (prepare: MakeRequest = noParameters): TokenRow => ({
  access: 'token',
  prepare,
  own: 200,
  readOnly: 200,
  other: 200,
});
/** Reads one object by id. */
const reads = (prepare: MakeRequest): TokenRow => ({ access: 'token', prepare, own: 200, readOnly: 200, other: 404 });
/** Changes one object by id. */
const changes = (prepare: MakeRequest): TokenRow => ({ access: 'token', prepare, own: 200, readOnly: 403, other: 404 });
/** Creates or changes objects of the instance of the token. */
const changesOwn = (prepare: MakeRequest = noParameters): TokenRow => ({
  access: 'token',
  prepare,
  own: 200,
  readOnly: 403,
  other: 200,
});
/** The test itself creates the index, because it needs the tokens of the index. */
const readsIndex = (body: unknown = []): IndexRow => ({ access: 'index', prepare: () => ({ body }), readOnly: 200 });
const changesIndex = (body: unknown = []): IndexRow => ({ access: 'index', prepare: () => ({ body }), readOnly: 403 });
const open = (status: number, prepare: MakeRequest = noParameters): OpenRow => ({ access: 'open', prepare, status });

/** People without the right to see an object get 404, and people without the right to perform the operation get 403. */
const account = (prepare: MakeRequest, permitted: readonly Person[], members: readonly Person[] = MEMBERS): AccountRow => {
  const statusOf = (person: Person): number => (permitted.includes(person) ? 200 : members.includes(person) ? 403 : 404);
  return {
    access: 'account',
    prepare,
    people: {
      operator: statusOf('operator'),
      owner: statusOf('owner'),
      admin: statusOf('admin'),
      dev: statusOf('dev'),
      finance: statusOf('finance'),
      stranger: statusOf('stranger'),
    },
  };
};
const MEMBERS: readonly Person[] = ['owner', 'admin', 'dev', 'finance'];
const EVERYBODY: readonly Person[] = [...MEMBERS, 'operator', 'stranger'];

const run: MakeRequest = async (objects) => ({ params: { workflowRunId: await objects.run() } });
const deadLetter: MakeRequest = async (objects) => ({ params: { dlqId: await objects.deadLetter() } });
const group: MakeRequest = async (objects) => ({ params: { fingerprint: await objects.deadLetterGroup() } });
const namedDeadLetter: MakeRequest = async (objects) => ({ query: `dlqIds=${await objects.deadLetter()}` });
const repair =
  (state: 'planned' | 'running' | 'paused', body?: unknown): MakeRequest =>
  async (objects) => ({ params: { repairId: await objects.repair(state) }, ...(body === undefined ? {} : { body }) });
const schedule: MakeRequest = async (objects) => ({ params: { scheduleId: await objects.schedule() } });
const flowControl: MakeRequest = async (objects) => ({ params: { flowControlKey: await objects.flowControlKey() } });
const alertDestination: MakeRequest = async (objects) => ({ params: { name: await objects.alertDestination() } });
const alertRule: MakeRequest = async (objects) => ({ params: { name: await objects.alertRule() } });
const lifecycleWebhook: MakeRequest = async (objects) => ({ params: { name: await objects.lifecycleWebhook() } });
const sdkRun: MakeRequest = async (objects) => ({ params: { workflowRunId: await objects.sdkRun() }, headers: SDK });
const hook: MakeRequest = () => ({ params: { userId: 'qi_1', workflowRunId: 'none', eventId: 'evt_none' } });
/** Steps that an endpoint submits for its own run: for a run of another instance the response is that for an unknown run. */
const submits = (prepare: MakeRequest, own: number): TokenRow => ({ access: 'token', prepare, own, readOnly: 403, other: 400 });
const message: MakeRequest = async (objects) => ({ params: { messageId: await objects.message() } });
const messageQueue: MakeRequest = async (objects) => ({ params: { queueName: await objects.messageQueue() } });
const urlGroup: MakeRequest = async (objects) => ({ params: { urlGroupName: await objects.urlGroup() } });
const inUpstash =
  (prepare: MakeRequest): MakeRequest =>
  async (objects) => ({ ...(await prepare(objects)), headers: UPSTASH });
const webhook: MakeRequest = () => ({ params: { eventId: 'whk_none.x' } });
const queue: MakeRequest = async (objects) => ({ params: { id: await objects.queue() } });
const user: MakeRequest = async (objects) => ({ params: { id: (await objects.user()).id } });
const searchIndex: MakeRequest = async (objects) => ({ params: { id: await objects.searchIndex() } });
const namedToken: MakeRequest = async (objects) => ({ params: await objects.namedToken() });
const withBody =
  (prepare: MakeRequest, body: unknown): MakeRequest =>
  async (objects) => ({ ...(await prepare(objects)), body });

export const ISOLATION: Readonly<Record<string, Row>> = {
  triggerRun: changesOwn(() => ({ params: { workflowUrl: 'http://w.test/ok' } })),
  triggerRuns: changesOwn(() => ({ body: [{ destination: 'http://w.test/ok' }] })),
  getRun: reads(run),
  getRunStep: reads(async (objects) => ({
    params: { workflowRunId: await objects.run('steps', { 'svc-wait-for-result': 'true' }), stepId: '1' },
  })),
  getRunResult: reads(async (objects) => ({ params: { workflowRunId: await objects.run('ok') }, query: 'timeout=60s' })),
  listRunAttempts: reads(run),
  explainRun: reads(run),
  compareRuns: reads(async (objects) => ({
    params: { workflowRunId: await objects.run('ok') },
    query: `with=${await objects.run('ok')}`,
  })),
  getRunLineage: reads(run),
  checkRun: { access: 'token', prepare: run, own: 200, readOnly: 403, other: 404 },
  checkDeadLetters: changesOwn(async (objects) => ({ body: { filter: { dlqIds: [await objects.deadLetter()] } } })),
  forkRun: { access: 'token', prepare: withBody(run, { fromStep: 1 }), own: 201, readOnly: 403, other: 404 },
  cancelRun: changes(run),
  cancelRuns: changesOwn(async (objects) => ({ body: { workflowRunIds: [await objects.run()] } })),
  listRunLogs: readsOwn(),
  searchRuns: readsOwn(() => ({ query: 'q=own' })),
  listRunEvents: readsOwn(() => ({ query: 'groupBy=workflowRunId' })),
  listDeadLetters: readsOwn(),
  getDeadLetter: reads(deadLetter),
  listDeadLetterGroups: readsOwn(),
  getDeadLetterGroup: reads(group),
  acknowledgeDeadLetterGroup: changes(group),
  resolveDeadLetterGroup: changes(group),
  listDeadLetterAssignees: { access: 'token', prepare: noParameters, own: 200, readOnly: 403, other: 200 },
  assignDeadLetterGroup: changes(withBody(group, { assignee: null })),
  snoozeDeadLetterGroup: changes(withBody(group, { until: null })),
  addDeadLetterGroupNote: changes(withBody(group, { text: 'waits for the provider' })),
  deleteDeadLetterGroupNote: changes(async (objects) => ({ params: await objects.groupNote() })),
  deleteDeadLetter: changes(deadLetter),
  deleteDeadLetters: changes(namedDeadLetter),
  resumeDeadLetters: changes(namedDeadLetter),
  restartDeadLetters: changes(namedDeadLetter),
  resumeDeadLetter: changes(deadLetter),
  restartDeadLetter: changes(deadLetter),
  retryFailureCallback: changes(async (objects) => ({ params: { dlqId: await objects.refusedCallback() } })),
  cancelFailureCallback: changes(async (objects) => ({
    params: { dlqId: await objects.deadLetter({ 'svc-failure-callback': 'http://w.test/hang' }) },
  })),
  planRepair: { ...changesOwn(() => ({ body: { action: 'resume', filter: { label: ['nobody'] } } })), own: 201, other: 201 },
  listRepairs: readsOwn(),
  getRepair: reads(repair('planned')),
  listRepairItems: reads(repair('planned')),
  startRepair: changes(repair('planned', { ratePerSecond: 1 })),
  pauseRepair: changes(repair('running')),
  continueRepair: changes(repair('paused', {})),
  abortRepair: changes(repair('planned')),
  createSchedule: changesOwn(() => ({ params: { destination: 'http://w.test/ok' }, headers: { 'svc-cron': '0 0 1 1 *' } })),
  listSchedules: readsOwn(),
  getSchedule: reads(schedule),
  changeSchedule: changes(async (objects) => ({ ...(await schedule(objects)), body: { cron: '0 0 2 1 *' } })),
  deleteSchedule: changes(schedule),
  pauseSchedule: changes(schedule),
  resumeSchedule: changes(schedule),
  listScheduleTicks: reads(schedule),
  runSchedule: changes(schedule),
  notifyEvent: changesOwn(() => ({ params: { eventId: 'e' } })),
  notifyRun: changes(async (objects) => ({ params: { workflowRunId: await objects.run(), eventId: 'e' } })),
  listWaiters: readsOwn(() => ({ params: { eventId: 'e' } })),
  listAllWaiters: readsOwn(async (objects) => {
    await objects.run('wait');
    return {};
  }),
  startWorkflow: changesOwn(() => ({ params: { workflowUrl: 'http://w.test/ok' }, headers: SDK })),
  getRunSteps: { access: 'token', prepare: sdkRun, own: 200, readOnly: 403, other: 404 },
  endRun: changes(sdkRun),
  waitForEvent: submits(async (objects) => {
    const runId = { 'upstash-workflow-runid': await objects.sdkRun() };
    const step = { stepId: 1, stepName: 'wait', stepType: 'Wait', concurrent: 1 };
    return { params: { eventId: 'e' }, headers: { ...SDK, ...runId }, body: { step, timeout: '10s' } };
  }, 200),
  publishBatch: submits(async (objects) => {
    const runId = { 'upstash-workflow-runid': await objects.sdkRun() };
    const headers = { ...SDK, ...runId, 'upstash-workflow-init': 'false' };
    const body = JSON.stringify({ stepId: 1, stepName: 'a', stepType: 'Run', concurrent: 1 });
    return { body: [{ destination: 'http://w.test/hang', headers, body }] };
  }, 200),
  publish: submits(async (objects) => {
    const headers = { ...SDK, 'upstash-workflow-init': 'true', 'upstash-workflow-invoke': 'true' };
    const step = { stepId: 1, stepName: 'invoke', stepType: 'Invoke', concurrent: 1 };
    const body = { workflowRunId: await objects.sdkRun(), step };
    return { params: { destination: 'http://w.test/hang' }, headers, body };
  }, 200),
  callHookByGet: open(404, hook),
  callHook: open(404, hook),
  callHookByPut: open(404, hook),
  callHookByPatch: open(404, hook),
  callHookByDelete: open(404, hook),
  callWebhookByGet: open(404, webhook),
  callWebhook: open(404, webhook),
  callWebhookByPut: open(404, webhook),
  callWebhookByPatch: open(404, webhook),
  callWebhookByDelete: open(404, webhook),
  listFlowControls: readsOwn(),
  getFlowControl: reads(flowControl),
  listWaitingDeliveries: reads(flowControl),
  pauseFlowControl: changes(flowControl),
  resumeFlowControl: changes(flowControl),
  unpinFlowControl: changes(flowControl),
  resetRateFlowControl: changes(flowControl),
  pinFlowControl: changesOwn(() => ({ params: { flowControlKey: 'made' }, query: 'parallelism=1' })),
  getGlobalParallelism: readsOwn(),
  listDestinations: readsOwn(),
  holdDestination: changesOwn(() => ({ body: { origin: 'http://held.test', reason: 'test' } })),
  releaseDestination: changesOwn(() => ({ body: { origin: 'http://held.test' } })),
  listAlerts: readsOwn(),
  listAlertDestinations: readsOwn(),
  putAlertDestination: changesOwn(() => ({ params: { name: 'a' }, body: { kind: 'webhook', url: 'http://w.test/ok' } })),
  testAlertDestination: changes(alertDestination),
  deleteAlertDestination: changes(alertDestination),
  listAlertRules: readsOwn(),
  putAlertRule: changesOwn(() => ({
    params: { name: 'a' },
    body: {
      ...{ condition: { kind: 'error-group' }, destinations: [] },
      quietHours: { from: '22:00', to: '07:00', timeZone: 'UTC' },
    },
  })),
  deleteAlertRule: changes(alertRule),
  listLifecycleWebhooks: readsOwn(),
  putLifecycleWebhook: changesOwn(() => ({ params: { name: 'a' }, body: { events: ['run.canceled'], destination: 'a' } })),
  deleteLifecycleWebhook: changes(lifecycleWebhook),
  getSettings: readsOwn(),
  // A circuit breaker would hold the deliveries that later rows wait for, because many of their runs fail.
  updateSettings: changesOwn(() => ({ body: { breaker: { enabled: false } } })),
  getSigningKeys: { access: 'token', prepare: noParameters, own: 200, readOnly: 403, other: 200 },
  rotateSigningKeys: changesOwn(),
  getSignatureSettings: { access: 'token', prepare: noParameters, own: 200, readOnly: 403, other: 200 },
  updateSignatureSettings: changesOwn(() => ({ body: { ed25519: true } })),
  // Each instance enabled them in the previous row.
  rotateKeyPairs: changesOwn(),
  getPublicKeys: open(404, () => ({ params: { instanceId: 'qi_none' } })),
  streamHints: readsOwn(() => ({ headers: { accept: 'text/event-stream' } })),
  listNodes: readsOwn(),
  listWorkers: readsOwn(),
  getInsights: readsOwn(),
  getWorkflowInsights: readsOwn(() => ({ query: 'workflowUrl=http%3A%2F%2Fapp.example%2F' })),
  summarizeRuns: readsOwn(),
  summarizeDeadLetters: readsOwn(),
  summarizeMessages: readsOwn(),
  // The clock of the test is real for all callers.
  getClock: { access: 'token', prepare: noParameters, own: 404, readOnly: 404, other: 404 },
  advanceClock: { access: 'token', prepare: () => ({ body: { by: '1s' } }), own: 404, readOnly: 403, other: 404 },
  settleClock: { access: 'token', prepare: noParameters, own: 404, readOnly: 403, other: 404 },
  getApiReference: open(200),
  getManagementApiReference: open(200),
  getUpstashApiReference: open(200),
  getApiReferenceStyles: open(200),
  getHealth: open(200),
  getReadiness: open(200),
  // The test has no metrics token.
  getMetrics: open(404),
  getOpenApi: open(200),

  upsertDocuments: changesIndex({ id: 'd', content: { text: 'own-secret' } }),
  searchDocuments: readsIndex({ query: 'text' }),
  getDocuments: readsIndex({ ids: ['d'] }),
  deleteDocuments: changesIndex({ ids: ['d'] }),
  listDocuments: readsIndex({ cursor: '', limit: 1 }),
  resetDocuments: changesIndex(),
  deleteNamespace: changesIndex(),
  listNamespaces: readsIndex(),
  getIndexInfo: readsIndex(),
  getSearchOpenApi: open(200),

  listInstances: account(noParameters, EVERYBODY),
  createInstance: account(
    (objects) => ({ body: { name: objects.name(), region: REGION, team_id: objects.people.teamId } }),
    ['owner', 'admin', 'dev'],
  ),
  deleteInstance: account(
    async (objects) => {
      const { instanceId, name } = await objects.queueRecord();
      return { params: { id: instanceId }, query: `confirm=${name}` };
    },
    ['owner', 'admin', 'operator'],
  ),
  getInstance: account(queue, MEMBERS),
  rotateInstanceTokens: account(queue, ['owner', 'admin', 'dev']),
  listTokens: account(queue, ['owner', 'admin', 'dev']),
  createToken: account(withBody(queue, { name: 'n', scopes: ['read'] }), ['owner', 'admin', 'dev']),
  rotateToken: account(withBody(namedToken, { overlap_seconds: 60 }), ['owner', 'admin', 'dev']),
  revokeToken: account(namedToken, ['owner', 'admin', 'dev']),
  moveInstanceToTeam: account(
    async (objects) => ({ body: { queue_id: await objects.queue(), target_team_id: objects.people.teamId } }),
    ['owner', 'admin'],
  ),
  updateInstanceBudget: account(withBody(queue, { budget: 20 }), ['owner', 'admin', 'finance']),
  setInstanceBudgetAlert: account(withBody(queue, { url: null }), ['owner', 'admin', 'finance']),
  setInstancePlan: account(withBody(queue, { plan_name: 'default' }), ['operator']),
  getOutboundRules: account(queue, [...MEMBERS, 'operator']),
  setOutboundRules: account(withBody(queue, { deny: ['x.example'], only: null }), ['owner', 'admin', 'dev']),
  setAllowedDestinations: account(withBody(queue, { allow: ['10.0.0.5:8080'] }), ['operator']),
  getInstanceStats: account(queue, MEMBERS),
  getInstanceUsage: account(queue, MEMBERS),
  listSessions: account(noParameters, EVERYBODY),
  revokeSession: account(() => ({ params: { id: 'ses_none' } }), [], []),
  revokeSessions: account(noParameters, EVERYBODY),
  listPlans: account(noParameters, EVERYBODY),
  listSearchIndexes: account(noParameters, EVERYBODY),
  createSearchIndex: account(
    (objects) => ({ body: { name: objects.name(), region: REGION, type: 'free', team_id: objects.people.teamId } }),
    ['owner', 'admin', 'dev'],
  ),
  getSearchStats: account(noParameters, EVERYBODY),
  getSearchIndex: account(searchIndex, MEMBERS),
  getSearchIndexStats: account(searchIndex, MEMBERS),
  renameSearchIndex: account(withBody(searchIndex, { name: 'other' }), ['owner', 'admin', 'dev']),
  transferSearchIndex: account(
    async (objects) => ({ ...(await searchIndex(objects)), body: { target_account: objects.people.teamId } }),
    ['owner', 'admin'],
  ),
  resetSearchIndexTokens: account(searchIndex, ['owner', 'admin', 'dev']),
  deleteSearchIndex: account(searchIndex, ['owner', 'admin']),
  listTeams: account(noParameters, EVERYBODY),
  createTeam: account(() => ({ body: { team_name: 'a team' } }), EVERYBODY),
  deleteTeam: account(async (objects) => ({ params: { id: await objects.emptyTeam() } }), ['owner', 'admin']),
  listTeamMembers: account((objects) => ({ params: { team_id: objects.people.teamId } }), MEMBERS),
  setTeamMember: account(
    async (objects) => ({
      body: { team_id: objects.people.teamId, member_email: await objects.member(), member_role: 'finance' },
    }),
    ['owner', 'admin'],
  ),
  removeTeamMember: account(
    async (objects) => ({ body: { team_id: objects.people.teamId, member_email: await objects.member() } }),
    ['owner', 'admin'],
  ),
  listTeamInvitations: account((objects) => ({ params: { team_id: objects.people.teamId } }), ['owner', 'admin']),
  revokeInvitation: account(async (objects) => ({ params: { id: (await objects.invitation()).id } }), ['owner', 'admin']),
  acceptInvitation: open(200, async (objects) => ({ body: { secret: (await objects.invitation()).secret } })),
  joinTeam: account(async (objects) => ({ body: { secret: (await objects.invitation()).secret } }), [], EVERYBODY),
  declineInvitation: open(200, async (objects) => ({ body: { secret: (await objects.invitation()).secret } })),
  listUsers: account(noParameters, ['operator'], EVERYBODY),
  disableUser: account(user, ['operator'], []),
  enableUser: account(user, ['operator'], []),
  deleteUser: account(user, ['operator'], []),
  grantOperator: account(user, ['operator'], []),
  revokeOperator: account(user, ['operator'], []),
  listUserApiKeys: account(user, ['operator'], []),
  createRecoveryLink: account(user, ['operator'], []),
  recoverUser: open(200, async (objects) => ({ body: { secret: await objects.recoverySecret() } })),
  revokeUserApiKey: account(
    async (objects) => {
      const { id, key } = await objects.user();
      return { params: { id, key_id: key } };
    },
    ['operator'],
    [],
  ),
  revokeUserApiKeys: account(user, ['operator'], []),
  revokeUserSessions: account(user, ['operator'], []),
  listUserIdentities: account(user, ['operator'], []),
  unlinkUserIdentity: account(
    async (objects) => {
      const { id } = await objects.user();
      return { params: { id, identity_id: await objects.identityOf(id) } };
    },
    ['operator'],
    [],
  ),
  getLogLevel: account(noParameters, ['operator'], EVERYBODY),
  setLogLevel: account(() => ({ body: { level: 'debug' } }), ['operator'], EVERYBODY),
  getAccount: account(noParameters, EVERYBODY),
  listApiKeys: account(noParameters, EVERYBODY),
  createApiKey: account(() => ({ body: { name: 'a key' } }), EVERYBODY),
  revokeApiKey: account(async (objects) => ({ params: { id: await objects.apiKeyOfOwner() } }), ['owner'], []),
  listAuditLogs: account(noParameters, EVERYBODY),
  exportAuditLog: account(() => ({ query: 'count=1' }), ['operator'], EVERYBODY),
  verifyAuditLog: account(noParameters, ['operator'], EVERYBODY),
  createSession: open(200, () => ({ body: { email: emailOf('owner'), api_key: apiKeyOf('owner') } })),
  createSessionWithLink: open(200, (objects) => ({ body: { secret: objects.loginSecret() } })),
  getSession: { access: 'session', prepare: noParameters },
  getSignInMethods: open(200),
  startSignIn: open(303),
  completeSignIn: open(303),
  linkIdentity: { access: 'session', prepare: noParameters },
  endSession: { access: 'session', prepare: noParameters },
  getManagementOpenApi: open(200),

  // Dashboard pages, which are not built in the test.
  getDashboard: open(404),
  getDashboardLogin: open(404),
  getDashboardPage: open(404, () => ({ params: { page: 'qi_1' } })),
  getDashboardAsset: open(404, () => ({ params: { file: 'index.js' } })),

  // Operations of the dialect of the published SDKs.
  enqueueMessage: changesOwn(() => ({ params: { queueName: 'made', destination: 'http://w.test/ok' } })),
  getMessage: reads(message),
  cancelMessage: { access: 'token', prepare: message, own: 202, readOnly: 403, other: 404 },
  cancelMessages: {
    access: 'token',
    prepare: async (objects) => ({ query: `messageIds=${await objects.message()}` }),
    ...{ own: 202, readOnly: 403, other: 202 },
  },
  upsertQueue: changesOwn(() => ({ body: { queueName: 'made' } })),
  listMessageQueues: readsOwn(),
  getMessageQueue: reads(messageQueue),
  deleteMessageQueue: changes(messageQueue),
  pauseMessageQueue: changes(messageQueue),
  resumeMessageQueue: changes(messageQueue),
  addUrlGroupEndpoints: changesOwn(() => ({
    params: { urlGroupName: 'made' },
    body: { endpoints: [{ url: 'http://w.test/ok' }] },
  })),
  removeUrlGroupEndpoints: changes(withBody(urlGroup, { endpoints: [{ name: 'first' }] })),
  listUrlGroups: readsOwn(),
  getUrlGroup: reads(urlGroup),
  deleteUrlGroup: changes(urlGroup),
  createMessageSchedule: changesOwn(() => ({
    params: { destination: 'http://w.test/ok' },
    headers: { 'upstash-cron': '0 0 1 1 *' },
  })),
  pauseMessageSchedule: changes(schedule),
  resumeMessageSchedule: changes(schedule),
  listMessageSchedules: readsOwn(inUpstash(noParameters)),
  getMessageSchedule: reads(inUpstash(schedule)),
  listFlowControlKeys: readsOwn(inUpstash(noParameters)),
  getFlowControlKey: reads(inUpstash(flowControl)),
  unpinFlowControlKey: changes(inUpstash(flowControl)),
  listDlqMessages: readsOwn(),
  getDlqMessage: reads(deadLetter),
  deleteDlqMessage: changes(deadLetter),
  deleteDlqMessages: changesOwn(async (objects) => ({ query: `dlqIds=${await objects.deadLetter()}` })),
  retryDlqMessage: { access: 'token', prepare: deadLetter, own: 201, readOnly: 403, other: 404 },
  retryDlqMessages: {
    access: 'token',
    prepare: async (objects) => ({ query: `dlqIds=${await objects.deadLetter()}` }),
    ...{ own: 201, readOnly: 403, other: 404 },
  },
  cancelWorkflowRuns: changesOwn(inUpstash(async (objects) => ({ query: `workflowRunIds=${await objects.run()}` }))),
  listWorkflowLogs: readsOwn(inUpstash(noParameters)),
  listWorkflowEvents: readsOwn(inUpstash(() => ({ query: 'groupBy=workflowRunId' }))),
  notifyWorkflows: changesOwn(inUpstash(() => ({ params: { eventId: 'e' } }))),
  notifyWorkflowRun: changes(inUpstash(async (objects) => ({ params: { workflowRunId: await objects.sdkRun(), eventId: 'e' } }))),
  getWorkflowWaiters: readsOwn(inUpstash(() => ({ params: { eventId: 'e' } }))),
  listWorkflowDlq: readsOwn(inUpstash(noParameters)),
  getWorkflowDlqMessage: reads(inUpstash(deadLetter)),
  resumeWorkflowDlq: changes(inUpstash(namedDeadLetter)),
  restartWorkflowDlq: changes(inUpstash(namedDeadLetter)),
  deleteWorkflowDlq: changes(inUpstash(namedDeadLetter)),
  retryWorkflowFailureFunction: changes(inUpstash(async (objects) => ({ params: { dlqId: await objects.refusedCallback() } }))),
  listMessageEvents: readsOwn(),
  listMessageLogs: readsOwn(),
  getUpstashOpenApi: open(200),
  listQStashUsers: account(noParameters, EVERYBODY),
  getQStashUser: account(queue, MEMBERS),
  resetQStashToken: account(queue, ['owner', 'admin', 'dev']),
  setQStashPlan: account(withBody(queue, { plan_name: 'default' }), ['operator']),
  getQStashStats: account(queue, MEMBERS),
  moveQStashToTeam: account(
    async (objects) => ({ body: { qstash_id: await objects.queue(), target_team_id: objects.people.teamId } }),
    ['owner', 'admin'],
  ),
  updateQStashBudget: account(withBody(queue, { budget: 20 }), ['owner', 'admin', 'finance']),
};
