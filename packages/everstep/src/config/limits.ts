/**
 * Every limit and default of the service, in one place. Relations between
 * them are asserted at the end, so a careless change stops the start.
 */
const KiB = 1024;
const MiB = 1024 * KiB;
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export const LIMITS = Object.freeze({
  // requests
  maxBodyBytes: 10 * MiB,
  /** Of a JSON body, except where an operation takes results, payloads or documents in it. */
  maxJsonBodyBytes: MiB,
  /** Of a JSON body of the management API. */
  maxAccountBodyBytes: 64 * KiB,
  maxLoginBodyBytes: 4 * KiB,
  /** Of the body of a request that needs none. */
  maxIgnoredBodyBytes: 64 * KiB,
  /** Of all request bodies that are in memory, from the arrival of a byte until its request is answered. */
  maxHeldBodyBytes: 256 * MiB,
  /** Of them, those of one queue instance, user, search index, or, without a credential, address. */
  maxHeldBodyBytesOfOwner: 128 * MiB,
  maxHeaderBytes: 64 * KiB,
  maxHeaderCount: 200,
  maxUrlLength: 8 * KiB,
  maxFilterValues: 100,
  requestTimeoutMs: 60 * SECOND_MS,

  // identifiers and texts
  maxWorkflowUrlLength: 2048,
  maxRunIdLength: 256,
  maxDeduplicationIdLength: 256,
  maxEventIdLength: 512,
  maxLabels: 20,
  maxLabelLength: 256,
  /** Of what a person notes about a fork. */
  maxNoteLength: 1_000,
  /** How long one endpoint may take to say whether it would replay a run, and all that one request asks. */
  checkTimeoutMs: 20_000,
  checksTimeoutMs: 60_000,
  /** Endpoints that one request asks at a time, and runs that it asks about. */
  checksAtOnce: 8,
  checksMax: 100,
  /** A longer journal is not sent to an endpoint to be checked. */
  maxCheckedJournalBytes: 16 * MiB,
  /** Of a run that are shown, each way. */
  relativesMax: 100,
  maxFlowControlKeyLength: 256,
  maxStepNameLength: 1024,
  maxQueueNameLength: 256,
  maxGroupEndpoints: 1_000,
  /** Of a queue instance: the most that a plan may allow. */
  maxQueues: 100_000,
  maxUrlGroups: 100_000,
  maxFlowControlKeys: 1_000_000,

  // runs
  defaultRetries: 3,
  maxRetries: 100,
  maxRetryDelayMs: DAY_MS,
  maxRetryExpressionLength: 512,
  defaultDeliveryTimeoutMs: 15 * MINUTE_MS,
  maxDeliveryTimeoutMs: 12 * HOUR_MS,
  maxDelayMs: 366 * DAY_MS,
  maxSleepMs: 10 * 366 * DAY_MS,
  maxJournalSteps: 100_000,
  maxJournalBytes: 256 * MiB,
  maxStepResultBytes: 10 * MiB,
  maxPlannedAtOnce: 10_000,
  /** An answer of an endpoint beyond this is cut off and counts as a failed attempt. */
  maxReplyBytes: 32 * MiB,
  /** Of all answers that are being read, or not recorded yet: without the first 64 KiB of each. */
  maxReplyBytesInMemory: 256 * MiB,
  /** What is kept of an endpoint's answer in a dead letter. */
  maxKeptResponseBytes: 256 * KiB,
  maxKeptErrorLength: 8 * KiB,
  /** What is kept of the answer to each failed attempt. */
  maxKeptAttemptBodyBytes: 8 * KiB,
  /** What is kept, or made again, of the body of its request. */
  maxKeptAttemptRequestBytes: 4 * KiB,
  /** Headers of it, and of the request, beyond this length in all are left out. */
  maxKeptAttemptHeadersLength: 8 * KiB,
  deduplicationWindowMs: 10 * MINUTE_MS,
  maxBatchItems: 100,
  /** Of a batch: an item may carry the longest step result, twice as JSON text. */
  maxBatchBytes: 40 * MiB,
  /** A longer journal is not sent with a delivery but fetched, where the step protocol knows that; body parsers often take 100 kB. */
  maxDeliveredJournalBytes: 96 * KiB,

  // waits and calls
  maxWaitMs: 10 * 366 * DAY_MS,
  defaultWaitMs: 7 * DAY_MS,
  maxEventsPerWait: 100,
  /** Events that a run has kept before it waits for them. */
  maxKeptEvents: 1_000,
  /** Of the bodies of all of them. They are in memory while their run is, which `maxCachedRunBytes` limits. */
  maxKeptEventBytes: 32 * MiB,
  maxEventBytes: MiB,
  maxCallUrlLength: 8 * KiB,
  maxCallBodyBytes: 10 * MiB,
  maxCallAnswerBytes: 10 * MiB,
  maxInvokeDepth: 100,
  /** Invocations of one run that have not ended. */
  maxOpenInvocations: 10_000,

  // schedules
  maxCronLength: 256,
  maxSchedules: 10_000,
  /** Schedules that a list reads at a time. */
  schedulesAtOnce: 50,
  scheduleFiresDefault: 10,
  scheduleFiresMax: 50,
  /** Longer payloads are left out of the list: all of them together would be too much for one answer. */
  maxListedBodyBytes: 4 * KiB,

  // what stands beside the runs
  maxRedactedFields: 50,
  maxHoldReasonLength: 512,
  waitersPageMax: 1_000,
  /** Of all events; and waiters that a request looks at one by one, for those of a workflow. */
  allWaitersPageDefault: 100,
  maxWaitersLookedAt: 5_000,
  waitListDefault: 50,
  waitListMax: 100,
  /** Tasks that a request looks at one by one, where the gates are another node's. */
  maxDueTasksLookedAt: 20_000,
  maxBreakerFailures: 10_000,
  minProbeEveryMs: SECOND_MS,
  maxProbeEveryMs: DAY_MS,
  maxRetentionAgeMs: 100 * 366 * DAY_MS,
  maxRetentionCount: 1_000_000_000,

  // accounts
  maxAccountNameLength: 100,
  maxRecordIdLength: 128,
  maxEmailLength: 254,
  /** Of each list of a queue instance. */
  maxOutboundRules: 100,
  /** A host name of 253 characters, and a port. */
  maxOutboundRuleLength: 260,
  minBudgetDollars: 20,
  maxBudgetDollars: 10_000,
  maxApiKeys: 100,
  /** Valid ones of a queue instance. */
  maxNamedTokens: 100,
  maxTokenLifetimeMs: 10 * 366 * DAY_MS,
  maxTeams: 100,
  maxTeamMembers: 1_000,
  /** Pending invitations of one team. */
  maxTeamInvitations: 100,
  /** Pending invitations that one user made, to all teams. */
  maxInvitationsOfUser: 200,
  invitationLifeMs: 7 * DAY_MS,
  recoveryLinkLifeMs: DAY_MS,
  /** How long a user may take at the identity provider. */
  signInLifeMs: 10 * MINUTE_MS,
  identityProviderTimeoutMs: 10 * SECOND_MS,
  maxIdentityProviderBytes: MiB,
  maxUsedSignInStates: 10_000,
  maxReturnPathLength: 500,
  maxInstances: 1_000,
  userPageDefault: 100,
  userPageMax: 1_000,
  auditPageDefault: 100,
  auditPageMax: 1_000,
  /** Entries of the audit log in one answer of the export. */
  auditExportMax: 1_000,
  /** Entries that one request holds against the hash chain. */
  auditVerifyMax: 2_000,
  /** How long a new entry may wait before it is pushed to the webhook of the operator. */
  auditPushEveryMs: 5_000,
  auditPushBatch: 500,
  minStatsPeriodMs: HOUR_MS,
  maxStatsPeriodMs: 30 * DAY_MS,
  usageDaysDefault: 30,
  maxUsageDays: 366,
  /** Of one account from one address, after which it has to wait. */
  maxFailedLogins: 10,
  /** Of one account from everywhere, and from one address to all accounts. */
  maxFailedLoginsInAll: 60,
  failedLoginWindowMs: MINUTE_MS,
  /** Accounts and addresses whose failures are remembered; those of longest ago are forgotten first. */
  rememberedLoginFailures: 10_000,

  /** A session that is not used ends after this. */
  sessionIdleMs: 12 * HOUR_MS,
  /** However much it is used. */
  sessionMaxMs: 7 * DAY_MS,

  // streams of hints
  /** Of one instance, and of all. */
  maxLiveStreams: 200,
  maxLiveStreamsInAll: 1_000,
  /** Two hints of one stream have at least this between them. */
  liveHintEveryMs: 250,
  /** So often a stream says that it is there, and it is asked whether its client may still have it. */
  livePingMs: 15 * SECOND_MS,

  // signatures
  /** Origins of workflows that are stored for an instance. */
  maxWorkflowOrigins: 100,
  /** Origins that the owner of an instance sets. */
  maxSignedOrigins: 100,
  maxOriginLength: 300,

  // search indexes
  maxSearchIndexes: 1_000,
  maxSearchNamespaces: 1_000,
  maxSearchNamespaceLength: 128,
  maxSearchDocumentIdLength: 512,
  maxSearchDocumentBytes: 128 * KiB,
  /** Of one upsert, one fetch by ids and one deletion by ids. */
  maxSearchDocumentsAtOnce: 1_000,
  maxSearchQueryLength: 2 * KiB,
  searchResultsDefault: 5,
  maxSearchResults: 1_000,
  maxSearchFilterLength: 4 * KiB,
  /** Conditions, and values of lists, in one filter. */
  maxSearchFilterValues: 100,
  maxSearchFilterDepth: 20,
  /** In one pattern: each of them may have to be tried everywhere. */
  maxSearchGlobStars: 4,

  // flow control
  maxParallelism: 10_000,
  maxRate: 1_000_000,
  maxPeriodMs: 7 * DAY_MS,

  // listings and bulk
  runsPageDefault: 10,
  runsPageMax: 10,
  deadLettersPageDefault: 100,
  deadLettersPageMax: 100,
  groupsPageDefault: 50,
  groupsPageMax: 100,
  foundRunsPageDefault: 20,
  foundRunsPageMax: 100,
  maxRunQueryLength: 1_024,
  maxRunQueryWords: 20,
  /** Runs that one search looks at, in steps between which others have their turn, and how long it goes on. */
  maxRunsSearched: 20_000,
  runsSearchedAtOnce: 500,
  maxRunSearchMs: 100,
  attemptsPageDefault: 1_000,
  attemptsPageMax: 1_000,
  bulkMax: 50,

  // repairs
  /** Entries that one repair freezes. */
  repairMaxItems: 1_000_000,
  /** Of them, those that a request names one by one. */
  repairNamedMax: 1_000,
  /** One every 1,000 seconds. */
  repairMinRatePerSecond: 0.001,
  repairMaxRatePerSecond: 1_000,
  repairMaxCanary: 1_000,
  repairUndoMs: 10 * MINUTE_MS,
  repairMaxUndoMs: 7 * DAY_MS,
  /** What is told of repairs stays so long at the least. */
  repairReportMs: 30 * DAY_MS,
  /** Workflows and groups that a plan names. */
  repairPlanRows: 100,
  repairsPageDefault: 20,
  repairsPageMax: 100,
  repairsAtOnce: 10,
  repairItemsPageDefault: 100,
  repairItemsPageMax: 1_000,

  // looking at runs
  /** Runs that a request looks at one by one, where a filter has no index. */
  maxRunsLookedAt: 500,
  /** Invocations of a run whose runs are looked up for its log. */
  loggedInvocations: 100,
  messageEventsPageDefault: 100,
  messageEventsPageMax: 1_000,
  /** Messages that a request looks at one by one, for events in a state. */
  maxMessagesLookedAt: 1_000,
  /** A page of a listing ends before the entry that exceeds this; the first entry leaves out what does not fit. */
  maxPageBytes: 16 * MiB,
  /** Long lists are read and sent in parts of about this size. */
  partBytes: MiB,
  partRows: 2_000,
  /** What a row of a list counts beside its texts. */
  rowBytes: 200,
  /** A longer result of a run is not read with its record. */
  maxInlineBytes: 64 * KiB,
  /** Longer values are hidden whole where a run redacts fields, and are compared as text. */
  maxParsedValueBytes: MiB,
  /** Invocations that the log of a run lists. */
  maxListedInvocations: 10_000,
  /** Bytes that all answers under way may be built of, and those of one queue instance. Small answers are not counted. */
  maxReadBytes: 64 * MiB,
  maxReadBytesOfInstance: 32 * MiB,
  /** An answer that finds no room among the others waits so long, then it is refused. */
  readWaitMs: 10 * SECOND_MS,
  maxWaitingReads: 100,
  /** A client that has not taken all of a long answer by then is disconnected. */
  maxAnswerMs: 5 * MINUTE_MS,

  // a virtual clock
  maxClockMoveMs: 10 * 366 * DAY_MS,
  /** Up to here times have their usual forms: the end of the year 9999. */
  maxClockTime: 253_402_300_799_999,
  /** A schedule that ticks each minute falls due so often in ten weeks. */
  maxClockInstants: 100_000,
  /** How long the service may work on what fell due at one instant. */
  clockQuietTimeoutMs: 2 * MINUTE_MS,

  // waiting for results
  defaultResultWaitMs: 30 * SECOND_MS,
  maxResultWaitMs: 10 * MINUTE_MS,
  /** Requests that wait for a result; at most three quarters of the connections that are served. */
  maxResultWaits: 10_000,

  // runtime
  maxDeliveriesInFlight: 512,
  maxConnectionsPerHost: 256,
  /** A delivery whose timeout is longer than this is a long one ... */
  longDeliveryMs: 15 * MINUTE_MS,
  /** ... and of all slots no more than these are for such deliveries. */
  maxLongDeliveriesInFlight: 256,
  /** Active runs that are kept in memory, and about how many bytes their states may take. */
  maxCachedRuns: 5_000,
  maxCachedRunBytes: 128 * MiB,
  /** A run with at least so many is a heavy one: those with a delivery under way have at most `maxCachedRunBytes` together. */
  heavyRunBytes: 256 * KiB,
  /** Names that are looked up at a time; and if that is done by a blocking function of the operating system. */
  maxLookups: 256,
  maxBlockingLookups: 4,
  lookupTimeoutMs: 5 * SECOND_MS,
  /** An answer of a name server is kept as long as it says, within these bounds. */
  minNameFreshMs: 5 * SECOND_MS,
  maxNameFreshMs: 5 * MINUTE_MS,
  /** How long it is kept that a name does not exist, or could not be looked up. */
  negativeNameFreshMs: 5 * SECOND_MS,
  failedNameFreshMs: 2 * SECOND_MS,
  /** How long an old answer is used while the name cannot be looked up. */
  maxNameStaleMs: 5 * MINUTE_MS,
  maxKnownNames: 10_000,
  /** While other steps of a run are out, its code is moved on at most this often. */
  advanceCoalesceMs: 20,
  /** How often runs that need not be kept any longer are looked for. */
  retentionEveryMs: 5 * MINUTE_MS,
  /** How long one transaction that removes such runs should take; the number of its runs follows from that. */
  retentionStepMs: 10,
  minRetentionBatch: 10,
  maxRetentionBatch: 200,
  /** Rows of a deleted queue instance that one step removes. */
  minRemovedRows: 50,
  maxRemovedRows: 2_000,
  /** How soon a node finds a deletion whose notice it missed. */
  deletedInstancePollMs: 5 * SECOND_MS,
  /** How often rows are looked for that were written late. */
  deletedInstanceRecheckMs: MINUTE_MS,
  /** So long after the deletion no request is under way that was admitted before it. */
  deletedInstanceKeptMs: 15 * MINUTE_MS,
  signatureLifetimeS: 300,
});

/** Bounds of one part of a long list. */
export const PART = Object.freeze({ maxRows: LIMITS.partRows, maxBytes: LIMITS.partBytes });

/** n-th retry waits e^(2.5 n) seconds, at most a day. */
export const BACKOFF = Object.freeze({ exponent: 2.5, maxMs: DAY_MS });

export function assertLimits(limits: Readonly<Record<keyof typeof LIMITS, number>> = LIMITS): void {
  const relations: readonly (readonly [boolean, string])[] = [
    [limits.defaultRetries <= limits.maxRetries, 'defaultRetries <= maxRetries'],
    [limits.maxBatchBytes <= limits.maxHeldBodyBytesOfOwner, 'maxBatchBytes <= maxHeldBodyBytesOfOwner'],
    [limits.maxHeldBodyBytesOfOwner < limits.maxHeldBodyBytes, 'maxHeldBodyBytesOfOwner < maxHeldBodyBytes'],
    [limits.minRetentionBatch <= limits.maxRetentionBatch, 'minRetentionBatch <= maxRetentionBatch'],
    [limits.maxStepResultBytes <= limits.maxReplyBytes, 'maxStepResultBytes <= maxReplyBytes'],
    [limits.maxStepResultBytes <= limits.maxJournalBytes, 'maxStepResultBytes <= maxJournalBytes'],
    [limits.maxWorkflowUrlLength <= limits.maxUrlLength, 'maxWorkflowUrlLength <= maxUrlLength'],
    [limits.defaultDeliveryTimeoutMs <= limits.maxDeliveryTimeoutMs, 'defaultDeliveryTimeoutMs <= maxDeliveryTimeoutMs'],
    [limits.maxEventBytes * 2 <= limits.maxKeptEventBytes, 'maxEventBytes * 2 <= maxKeptEventBytes'],
    [limits.maxPlannedAtOnce <= limits.maxJournalSteps, 'maxPlannedAtOnce <= maxJournalSteps'],
    [limits.runsPageDefault <= limits.runsPageMax, 'runsPageDefault <= runsPageMax'],
    [limits.deadLettersPageDefault <= limits.deadLettersPageMax, 'deadLettersPageDefault <= deadLettersPageMax'],
    [limits.minBudgetDollars <= limits.maxBudgetDollars, 'minBudgetDollars <= maxBudgetDollars'],
    [limits.messageEventsPageDefault <= limits.messageEventsPageMax, 'messageEventsPageDefault <= messageEventsPageMax'],
    [limits.attemptsPageDefault <= limits.attemptsPageMax, 'attemptsPageDefault <= attemptsPageMax'],
    [limits.foundRunsPageDefault <= limits.foundRunsPageMax, 'foundRunsPageDefault <= foundRunsPageMax'],
    [limits.userPageDefault <= limits.userPageMax, 'userPageDefault <= userPageMax'],
    [limits.auditPageDefault <= limits.auditPageMax, 'auditPageDefault <= auditPageMax'],
    [limits.maxFailedLogins <= limits.maxFailedLoginsInAll, 'maxFailedLogins <= maxFailedLoginsInAll'],
    [limits.maxSearchDocumentBytes <= limits.maxBodyBytes, 'maxSearchDocumentBytes <= maxBodyBytes'],
    [limits.searchResultsDefault <= limits.maxSearchResults, 'searchResultsDefault <= maxSearchResults'],
    [limits.maxKeptResponseBytes <= limits.maxReplyBytes, 'maxKeptResponseBytes <= maxReplyBytes'],
    [limits.defaultDeliveryTimeoutMs <= limits.longDeliveryMs, 'defaultDeliveryTimeoutMs <= longDeliveryMs'],
    [limits.maxLongDeliveriesInFlight < limits.maxDeliveriesInFlight, 'maxLongDeliveriesInFlight < maxDeliveriesInFlight'],
    [limits.minNameFreshMs <= limits.maxNameFreshMs, 'minNameFreshMs <= maxNameFreshMs'],
    [limits.maxReplyBytes * 4 <= limits.maxReplyBytesInMemory, 'maxReplyBytes * 4 <= maxReplyBytesInMemory'],
    [limits.maxKeptEventBytes * 2 <= limits.maxCachedRunBytes, 'maxKeptEventBytes * 2 <= maxCachedRunBytes'],
    [limits.maxKeptAttemptBodyBytes <= limits.maxKeptResponseBytes, 'maxKeptAttemptBodyBytes <= maxKeptResponseBytes'],
    [limits.maxInlineBytes <= limits.partBytes, 'maxInlineBytes <= partBytes'],
    [limits.maxStepResultBytes <= limits.maxPageBytes, 'maxStepResultBytes <= maxPageBytes'],
    // Two values of the longest answers are under way at a time: one is read while the other is sent.
    [2 * limits.maxStepResultBytes <= limits.maxReadBytesOfInstance, '2 * maxStepResultBytes <= maxReadBytesOfInstance'],
    [limits.maxPageBytes <= limits.maxReadBytesOfInstance, 'maxPageBytes <= maxReadBytesOfInstance'],
    [limits.maxReadBytesOfInstance <= limits.maxReadBytes, 'maxReadBytesOfInstance <= maxReadBytes'],
  ];
  for (const [holds, text] of relations) if (!holds) throw new Error(`limits contradict each other: ${text} must hold`);
}
