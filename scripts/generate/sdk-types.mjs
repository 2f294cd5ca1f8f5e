/** Lists the types of the SDK that are generated, with the schemas of the contract that declare them. */
import './sources.mjs';
import { MAX_LINE, typesOf } from './emitter.mjs';

const contract = async (name) => import(`../../packages/everstep/src/contract/${name}.ts`);
const [attempts, audit, groups, deadLetters, events, { ExplanationSchema }, live, logLevels, management, repairs, tools] =
  await Promise.all(
    [
      'attempts',
      'audit',
      'dead-letter-groups',
      'dead-letters',
      'events',
      'explanation',
      'live',
      'installation/log-level',
      'management',
      'repairs',
      'run-tools',
    ].map(contract),
  );
const [runs, schedules, search, service, { OwnSession }, signatures, workers] = await Promise.all(
  ['runs', 'schedules', 'search', 'service', 'session', 'signatures', 'workers/workers'].map(contract),
);

const alerts = await contract('alerts/alerts');
const insights = await contract('insights/insights');
const summaries = await contract('insights/list-summaries');
const { oneOrMoreFilters, valueSchema } = await contract('filters/body-filters');
const { hasOneValue } = await contract('filters/filter');
const { DEAD_LETTER_FILTERS } = await contract('filters/dead-letter-filters');
const { MESSAGE_FILTERS } = await contract('filters/message-filters');
const { CANCEL_FILTERS, RUN_FILTERS } = await contract('filters/run-filters');

/** Returns a schema with some fields of an object. `replacements`: schemas of fields for which the API accepts more types. */
function pick(schema, description, names, replacements = {}) {
  const properties = Object.fromEntries(names.map((name) => [name, replacements[name] ?? schema.properties[name]]));
  return { ...schema, description, properties, required: (schema.required ?? []).filter((name) => names.includes(name)) };
}

const DATE = { instance: 'Date' };

/** Returns the schema of the filters that a call accepts. One value instead of a list, and a Date as a time, are valid too. */
function filters(description, table) {
  const properties = Object.entries(oneOrMoreFilters(table)).map(([name, schema]) => [
    name,
    /Date$/.test(name) ? { anyOf: [{ type: 'integer' }, DATE], description: schema.description } : schema,
  ]);
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    description: `${description} Filters are combined with AND, the values of one filter with OR.`,
  };
}

/** Returns the source of a constant with the filters that match any of several values. */
function listsOf(name, type, table) {
  const names = Object.keys(table).filter((filterName) => !hasOneValue(table[filterName]));
  const start = `export const ${name}: readonly (keyof ${type})[] =`;
  const line = `${start} [${names.map((filterName) => `'${filterName}'`).join(', ')}];`;
  const text = line.length <= MAX_LINE ? line : `${start} [\n${names.map((filterName) => `  '${filterName}',\n`).join('')}];`;
  return `\n/** Filters that match any of several values. */\n${text}\n`;
}

/** Types by file below `packages/sdk/src/client/generated`. A file is named after the file of its schemas. */
const FILES = {
  alerts: {
    AlertDestinationKind: alerts.AlertDestinationKind,
    AlertDestination: alerts.AlertDestinationEntry,
    AlertKind: alerts.AlertConditionSchema.properties.kind,
    AlertCondition: alerts.AlertConditionSchema,
    QuietHours: alerts.QuietHoursSchema,
    AlertRule: alerts.AlertRuleEntry,
    LifecycleEvent: alerts.LifecycleEventSchema,
    LifecycleWebhook: alerts.LifecycleWebhookEntry,
    Alert: alerts.AlertEntry,
    AlertPage: alerts.AlertPage,
  },
  attempts: {
    RunAttempt: attempts.RunAttempt,
    RunAttemptPage: attempts.RunAttempts,
  },
  audit: {
    AuditedRequest: audit.AuditLogEntry.properties.request,
    AuditLogEntry: audit.AuditLogEntry,
    AuditLogPage: audit.AuditLogPage,
    AuditVerification: audit.AuditVerification,
    AuditExportLine: audit.AuditExportLine,
  },
  'dead-letter-groups': {
    DeadLetterGroupState: groups.GroupStateSchema,
    DeadLetterGroup: groups.DeadLetterGroup,
    DeadLetterGroupPage: groups.DeadLetterGroupPage,
    DeadLetterGroupNote: groups.DeadLetterGroupNote,
    DeadLetterAssignees: groups.DeadLetterAssignees,
  },
  'dead-letters': {
    HeaderMap: deadLetters.DeadLetterEntry.properties.header,
    FailureFunctionState: deadLetters.FailureFunctionStateSchema,
    DeadLetterEntry: deadLetters.DeadLetterEntry,
    DeadLetterPage: deadLetters.DeadLetterPage,
    RecoveredRuns: deadLetters.RecoveredRuns,
    DeletedDeadLetters: deadLetters.DeletedDeadLetters,
    FailureFunctionChange: deadLetters.FailureFunctionChanged,
  },
  events: {
    Waiter: events.Waiter,
    EventWaiter: events.EventWaiter,
    EventWaiterPage: events.EventWaiterPage,
    NotifiedWaiter: events.NotifiedWaiter,
  },
  explanation: {
    WaitReason: ExplanationSchema.properties.tasks.items.properties.reasons.items,
    RunExplanation: ExplanationSchema,
    RunWaiting: runs.FoundRun.properties.waiting,
  },
  filters: {
    RunWait: valueSchema(RUN_FILTERS.waitingFor, { description: 'What the active runs of a filter wait for.' }),
    DeadLetterFilter: filters('Filters of the dead letter queue.', DEAD_LETTER_FILTERS),
    MessageFilter: filters('Filters of messages.', MESSAGE_FILTERS),
    RunFilter: filters('Filters of the run log and of searches.', RUN_FILTERS),
    CancelFilter: filters('Filters of the active runs to cancel.', CANCEL_FILTERS),
  },
  insights: {
    InsightWindow: insights.InsightWindow,
    InsightPoint: insights.InsightPoint,
    InsightTotals: insights.InsightTotals,
    AttentionItem: insights.AttentionItem,
    InstanceInsights: insights.InstanceInsights,
    WorkflowInsights: insights.WorkflowInsights,
    TopValues: summaries.TopValues,
    ListSummary: summaries.ListSummary,
    RunField: summaries.RunField,
    DeadLetterField: summaries.DeadLetterField,
    MessageField: summaries.MessageField,
  },
  live: {
    LiveTopic: live.LiveChange.properties.topics.items,
    LiveChange: live.LiveChange,
    ServiceNode: live.NodeEntry,
  },
  'log-level': { LogLevelName: logLevels.LogLevelName, LogLevel: logLevels.LogLevelEntry },
  management: {
    AccountRole: management.AccountEntry.properties.accounts.items.properties.role,
    Account: management.AccountEntry,
    ApiKey: management.ApiKeyEntry,
    UserIdentity: management.IdentityEntry,
    RecoveryLink: management.RecoveryLink,
    Team: management.TeamEntry,
    TeamMember: management.TeamMember,
    JoinedTeam: management.JoinedTeam,
    User: management.UserEntry,
    UserPage: management.UserPage,
    InstancePlan: management.PlanRecord,
    QueueInstance: management.InstanceRecord,
    TokenScope: management.TokenScopes.items,
    InstanceToken: management.TokenEntry,
    QueueStats: management.QueueStats,
    InstanceUsage: management.InstanceUsage,
    InstanceOutboundRules: management.OutboundRulesRecord,
  },
  repairs: {
    RepairAction: repairs.RepairAction,
    RepairState: repairs.RepairState,
    RepairItemState: repairs.RepairItemState,
    RepairStopReason: repairs.RepairEntry.properties.stopReason.anyOf[0],
    RepairFilter: repairs.RepairFilter,
    RepairOverrides: repairs.RepairOverrides,
    RepairCanary: repairs.StartRepair.properties.canary,
    Repair: repairs.RepairEntry,
    RepairPage: repairs.RepairPage,
    RepairItem: repairs.RepairItem,
    RepairItemPage: repairs.RepairItemPage,
  },
  'run-tools': {
    ForkOptions: tools.ForkRequest,
    ComparedRun: tools.RunComparison.properties.left,
    ComparedStep: tools.RunComparison.properties.steps.items.properties.left.anyOf[0],
    RunDifference: tools.RunComparison.properties.differences.items,
    RunComparison: tools.RunComparison,
    RunRelative: tools.RunLineage.properties.ancestors.items,
    RunLineage: tools.RunLineage,
    RunCheck: tools.RunChecks.properties.checks.items,
    DeadLetterCheckOptions: tools.CheckDeadLetters,
    DeadLetterCheckPage: tools.DeadLetterChecks,
  },
  runs: {
    RunState: runs.RunStateSchema,
    StepState: runs.LoggedStep.properties.state,
    ShownStepType: runs.LoggedStep.properties.stepType,
    RunReference: runs.RunReferenceSchema,
    TriggeredRun: runs.TriggeredRun,
    ActiveRun: runs.ActiveRun,
    'RunResult<Result = unknown>': runs.RunResult,
    RunSuccessor: runs.RunLogEntry.properties.workflowRunBecame,
    RunOrigin: runs.RunLogEntry.properties.workflowRunOrigin,
    InvokedRun: runs.RunLogEntry.properties.invokedRuns.items,
    AttemptError: runs.AttemptError,
    FailureFunctionInfo: runs.FailureFunctionInfo,
    RunFields: runs.RunFields,
    StepFields: runs.StepFields,
    LoggedStep: runs.LoggedStep,
    StepGroup: runs.StepGroup,
    RunLogEntry: runs.RunLogEntry,
    RunLogPage: runs.RunLogPage,
    FoundRun: runs.FoundRun,
    RunSearchPage: runs.RunSearchPage,
    JournalStep: runs.JournalStep,
    OpenTask: runs.RunJournal.properties.tasks.items,
    FailedAttempt: runs.RunJournal.properties.attempts.items,
    RunJournal: runs.RunJournal,
  },
  schedules: {
    ScheduleEntry: schedules.ScheduleEntry,
    ScheduleChange: schedules.ScheduleChange,
    ScheduleRun: schedules.ScheduleRunStarted,
  },
  search: {
    SearchIndex: search.SearchIndexEntry,
    SearchIndexStats: search.SearchIndexStatsEntry,
    SearchStats: search.SearchStats,
    JsonObject: { ...search.DocumentBody.properties.content, description: 'JSON object.' },
    SearchDocument: search.DocumentBody,
    StoredDocument: search.StoredDocument,
    ScoredDocument: search.ScoredDocument,
    DocumentPage: search.DocumentPage,
    NamespaceCounts: search.IndexInfo.properties.namespaces.patternProperties['^.*$'],
    SearchIndexInfo: search.IndexInfo,
    DocumentParts: pick(search.SearchBody, 'Parts of documents to return. Default: all.', ['includeMetadata', 'includeData']),
    SearchOptions: pick(search.SearchBody, 'Options of a search.', ['query', 'topK', 'filter', 'includeMetadata', 'includeData']),
    DocumentRangeOptions: pick(
      search.RangeBody,
      'Options of a page of documents.',
      ['cursor', 'limit', 'prefix', 'includeMetadata', 'includeData'],
      { cursor: { type: 'string', description: '`nextCursor` of the previous page.' } },
    ),
  },
  service: {
    FlowControlEntry: service.FlowControlEntry,
    FlowControlWaiter: service.FlowControlWaitList.properties.waiting.items,
    FlowControlWaitList: service.FlowControlWaitList,
    GlobalParallelism: service.GlobalParallelism,
    DestinationEntry: service.DestinationEntry,
    DestinationHeld: service.DestinationHeld,
    BreakerSettings: service.InstanceSettingsSchema.properties.breaker,
    RetentionRule: service.InstanceSettingsSchema.properties.retention.properties.failed,
    RetentionSettings: service.InstanceSettingsSchema.properties.retention,
    InstanceSettings: service.InstanceSettingsSchema,
    RetentionRuleUpdate: service.InstanceSettingsPatch.properties.retention.properties.failed,
    InstanceSettingsUpdate: service.InstanceSettingsPatch,
    SigningKeyPair: service.SigningKeysSchema,
  },
  session: { UserSession: OwnSession },
  signatures: {
    PublicKey: signatures.PublicKeySchema,
    SignatureSettings: signatures.SignatureSettingsSchema,
    SignatureSettingsUpdate: signatures.SignatureSettingsPatch,
  },
  workers: {
    MissingWorker: workers.MissingWorker,
    WorkerEntry: workers.WorkerEntry,
    UnservedWorkflow: workers.UnservedWorkflow,
    WorkerPage: workers.WorkerPage,
  },
};

/** Methods of the SDK, by the operations that descriptions name. */
const SDK_METHODS = { getRun: 'runs.get', getRunResult: 'runs.result', getRunStep: 'runs.step', getSchedule: 'schedules.get' };

const FILE_HEADER = '// Generated by `npm run generate` from packages/everstep/src/contract. Do not edit.\n';

/** Returns the text of each generated file by its path from the root of the repository. */
export function sdkTypes() {
  const texts = typesOf(FILES, {
    imports: {
      StepType: { from: '../../protocol.js', schema: runs.JournalStep.properties.stepType },
      Date: { schema: DATE },
    },
    bases: ['CancelFilter', 'RunFields', 'StepFields', 'TriggeredRun', 'RunReference', 'StoredDocument', 'DocumentParts'],
    describe: (text) => text.replace(/`(\w+)`/g, (match, name) => (SDK_METHODS[name] ? `\`${SDK_METHODS[name]}\`` : match)),
  });
  const lists =
    listsOf('DEAD_LETTER_LISTS', 'DeadLetterFilter', DEAD_LETTER_FILTERS) +
    listsOf('MESSAGE_LISTS', 'MessageFilter', MESSAGE_FILTERS) +
    listsOf('RUN_LISTS', 'RunFilter', RUN_FILTERS);
  texts.set('filters', texts.get('filters') + lists);
  const index = Object.keys(FILES).map((file) => `export type * from './${file}.js';\n`);
  const files = [...texts, ['index', index.join('')]];
  return new Map(files.map(([file, text]) => [`packages/sdk/src/client/generated/${file}.ts`, `${FILE_HEADER}\n${text}`]));
}
