/**
 * All limits and defaults of the server. The relations between them are asserted at startup, so that the server does not start
 * with contradictory limits.
 * Keeps invariant 35.
 */
import { ALERT_LIMITS } from './alert-limits.js';
import { largestReplyBytes } from './reply-size.js';
import { SEARCH_LIMITS } from './search-limits.js';
import { WORKER_LIMITS } from './worker-limits.js';

export { largestReplyBytes };

const KiB = 1024;
const MiB = 1024 * KiB;
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export const LIMITS = Object.freeze({
  // requests
  maxBodyBytes: 10 * MiB,
  /** Maximum JSON body, except for operations that accept results, payloads or documents. */
  maxJsonBodyBytes: MiB,
  /** Maximum JSON body of the management API. */
  maxAccountBodyBytes: 64 * KiB,
  maxLoginBodyBytes: 4 * KiB,
  /** Maximum body of a request whose operation ignores it. */
  maxIgnoredBodyBytes: 64 * KiB,
  /** Maximum total size of request bodies in memory, from the first byte until the response. */
  maxHeldBodyBytes: 256 * MiB,
  /**
   * Maximum share of one queue instance, of the search indexes of an account, of a user, or of one address for requests without a
   * credential; and of an account if several accounts own instances.
   */
  maxHeldBodyBytesOfOwner: 128 * MiB,
  maxHeaderBytes: 64 * KiB,
  maxHeaderCount: 200,
  maxUrlLength: 8 * KiB,
  maxFilterValues: 100,
  requestTimeoutMs: 60 * SECOND_MS,

  ...WORKER_LIMITS,
  ...SEARCH_LIMITS,
  ...ALERT_LIMITS,

  // identifiers and texts
  maxWorkflowUrlLength: 2048,
  maxRunIdLength: 256,
  maxDeduplicationIdLength: 256,
  maxEventIdLength: 512,
  maxLabels: 20,
  maxLabelLength: 256,
  /** Maximum length of a note about a fork. */
  maxNoteLength: 1_000,
  /** Timeout of the replay check of one endpoint, and of all checks in one request. */
  checkTimeoutMs: 20_000,
  checksTimeoutMs: 60_000,
  /** Maximum number of endpoints checked at a time, and of runs in one request. */
  maxConcurrentChecks: 8,
  checksMax: 100,
  /** Longer journals are not sent to an endpoint for a check. */
  maxCheckedJournalBytes: 16 * MiB,
  /** Maximum number of ancestors and of descendants listed for a run. */
  maxRelatives: 100,
  maxFlowControlKeyLength: 256,
  maxStepNameLength: 1024,
  maxQueueNameLength: 256,
  /** An IPv6 address has up to 45 characters, plus a zone. */
  maxIpLength: 64,
  maxGroupEndpoints: 1_000,
  /** Maximum total size of the messages that a request or a tick of a schedule publishes. A tick is one unit of writes. */
  maxPublishedBytes: 64 * MiB,
  /** Assumed size of such a message in addition to its body, headers and settings. */
  assumedMessageBytes: 4 * KiB,
  /** Upper bounds for the limits of a plan, per queue instance. */
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
  /** Maximum number of results in one reply, and of characters before the last of them. */
  maxCheckpointSteps: 1_000,
  maxCheckpointChars: MiB,
  /** A longer response of an endpoint is cut off and counts as a failed attempt. */
  maxReplyBytes: 32 * MiB,
  /** Maximum total size of responses being read or recorded, without the first 64 KiB of each. */
  maxReplyBytesInMemory: 256 * MiB,
  /** Maximum size of an endpoint's response stored in a dead letter. */
  maxKeptResponseBytes: 256 * KiB,
  maxKeptErrorLength: 8 * KiB,
  /** Maximum size of the response stored for each failed attempt. */
  maxKeptAttemptBodyBytes: 8 * KiB,
  /** Maximum size of the request body stored or rebuilt for an attempt. */
  maxKeptAttemptRequestBytes: 4 * KiB,
  /** Maximum total length of request headers and of response headers stored for an attempt; further headers are omitted. */
  maxKeptAttemptHeadersLength: 8 * KiB,
  deduplicationWindowMs: 10 * MINUTE_MS,
  maxBatchItems: 100,
  /** Maximum size of a batch. An item may contain the longest step result, which can be twice as long as JSON text. */
  maxBatchBytes: 40 * MiB,
  /** A longer journal is fetched instead of sent with a delivery, if the protocol supports it. Body parsers often accept 100 kB. */
  maxDeliveredJournalBytes: 96 * KiB,

  // waits and calls
  maxWaitMs: 10 * 366 * DAY_MS,
  defaultWaitMs: 7 * DAY_MS,
  maxEventsPerWait: 100,
  /** Maximum number of events stored for a run before it waits for them. */
  maxKeptEvents: 1_000,
  /** Maximum total size of these events, with headers and queries of webhook calls. They are in memory together with their run. */
  maxKeptEventBytes: 32 * MiB,
  maxEventBytes: MiB,
  maxCallUrlLength: 8 * KiB,
  maxCallBodyBytes: 10 * MiB,
  maxCallResponseBytes: 10 * MiB,
  maxInvokeDepth: 100,
  /** Maximum number of unfinished invocations of one run. */
  maxOpenInvocations: 10_000,

  // schedules
  maxCronLength: 256,
  maxSchedules: 10_000,
  /** Number of schedules that a listing reads at a time. */
  schedulesAtOnce: 50,
  scheduleFiresDefault: 10,
  scheduleFiresMax: 50,
  /** Longer payloads are omitted from the listing, because all of them together could exceed one response. */
  maxListedBodyBytes: 4 * KiB,

  // redaction, holds, waiters and retention
  maxRedactedFields: 50,
  maxHoldReasonLength: 512,
  waitersPageMax: 1_000,
  /** Page size for all events, and the number of waiters that a request scans for those of one workflow. */
  allWaitersPageDefault: 100,
  maxWaitersScanned: 5_000,
  waitListDefault: 50,
  waitListMax: 100,
  /** Maximum number of tasks that a request scans if another node holds the gates. */
  maxDueTasksScanned: 20_000,
  maxBreakerFailures: 10_000,
  minProbeEveryMs: SECOND_MS,
  maxProbeEveryMs: DAY_MS,
  maxRetentionAgeMs: 100 * 366 * DAY_MS,
  maxRetentionCount: 1_000_000_000,

  // accounts
  maxAccountNameLength: 100,
  maxRecordIdLength: 128,
  maxEmailLength: 254,
  /** Maximum length of each rule list of a queue instance. */
  maxOutboundRules: 100,
  /** Length of a host name of 253 characters with a port. */
  maxOutboundRuleLength: 260,
  minBudgetDollars: 20,
  maxBudgetDollars: 10_000,
  maxApiKeys: 100,
  /** Maximum number of valid named tokens of a queue instance. */
  maxNamedTokens: 100,
  /** Maximum number of them after a rotation, including replaced tokens that are still valid. */
  maxNamedTokensWithReplaced: 200,
  /** Maximum number of scopes of a token; each app that it may connect is one. */
  maxTokenScopes: 50,
  /** The server's own tokens have about 350 characters. */
  maxTokenLength: 4_096,
  maxTokenLifetimeMs: 10 * 366 * DAY_MS,
  maxTeams: 100,
  maxTeamMembers: 1_000,
  /** Maximum number of pending invitations of one team. */
  maxTeamInvitations: 100,
  /** Maximum number of pending invitations created by one user, across all teams. */
  maxInvitationsOfUser: 200,
  invitationLifeMs: 7 * DAY_MS,
  recoveryLinkLifeMs: DAY_MS,
  /** Time that a user has to sign in at the identity provider. */
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
  /** Maximum number of audit log entries in one response of the export. */
  auditExportMax: 1_000,
  /** Maximum number of entries that one request verifies against the hash chain. */
  auditVerifyMax: 2_000,
  /** Maximum delay before a new entry is sent to the audit webhook. */
  auditPushEveryMs: 5_000,
  auditPushBatch: 500,
  minStatsPeriodMs: HOUR_MS,
  maxStatsPeriodMs: 30 * DAY_MS,
  usageDaysDefault: 30,
  maxUsageDays: 366,
  /** Failed logins to one account from one address before further attempts must wait. */
  maxFailedLogins: 10,
  /** Failed logins to one account from all addresses, and from one address to all accounts. */
  maxFailedLoginsTotal: 60,
  failedLoginWindowMs: MINUTE_MS,
  /** Maximum number of accounts and addresses with tracked failures; the oldest are dropped first. */
  maxTrackedLoginFailures: 10_000,

  /** An unused session ends after this time. */
  sessionIdleMs: 12 * HOUR_MS,
  /** Lifetime of a one-time login link. */
  loginLinkMs: 10 * 60_000,
  /** Any session ends after this time. */
  sessionMaxMs: 7 * DAY_MS,

  // live streams
  /** Maximum number of streams of one queue instance, and in total. */
  maxLiveStreams: 200,
  maxLiveStreamsTotal: 1_000,
  /** Minimum interval between two hints of a stream. */
  liveHintEveryMs: 250,
  /** Interval at which a stream sends a ping and checks the permissions of its client. */
  livePingMs: 15 * SECOND_MS,

  // signatures
  /** Maximum number of stored workflow origins of an instance. */
  maxWorkflowOrigins: 100,
  /** Maximum number of origins set by the owner of an instance. */
  maxSignedOrigins: 100,
  maxOriginLength: 300,

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
  /** Maximum number of runs that a client reads again by their ids in one request. */
  maxRunsById: 50,
  /** Maximum number of tasks of a run that decide what the run waits for. */
  maxWaitTasks: 16,
  maxRunQueryLength: 1_024,
  maxRunQueryWords: 20,
  /** Maximum number of runs that one search scans, batch size between pauses for other work, and time limit of a search. */
  maxRunsSearched: 20_000,
  runsSearchedAtOnce: 500,
  maxRunSearchMs: 100,
  journalPageMax: 1_000,
  attemptsPageDefault: 1_000,
  attemptsPageMax: 1_000,
  bulkMax: 50,

  // repairs
  /** Maximum number of repairs of a queue instance that have not ended, including plans that were not started. */
  maxOpenRepairs: 50,
  /** Maximum number of dead letters selected by one repair. */
  repairMaxItems: 1_000_000,
  /** Maximum number of dead letters given by id. */
  maxRepairEntriesById: 1_000,
  /** Minimum rate: one entry every 1,000 seconds. */
  repairMinRatePerSecond: 0.001,
  repairMaxRatePerSecond: 1_000,
  repairMaxCanary: 1_000,
  /** Default settings of a canary. */
  repairCanaryCount: 10,
  repairCanaryMaxFailurePercent: 20,
  repairUndoMs: 10 * MINUTE_MS,
  repairMaxUndoMs: 7 * DAY_MS,
  /** Minimum retention of finished repairs. */
  repairReportMs: 30 * DAY_MS,
  /** Maximum number of workflows and groups listed in a plan. */
  repairPlanRows: 100,
  repairsPageDefault: 20,
  repairsPageMax: 100,
  repairsAtOnce: 10,
  repairItemsPageDefault: 100,
  repairItemsPageMax: 1_000,

  // listing runs
  /** Maximum number of runs that a request scans if a filter has no index. */
  maxRunsScanned: 500,
  /** Maximum number of invoked runs looked up for the log of a run. */
  maxLoggedInvocations: 100,
  messageEventsPageDefault: 100,
  messageEventsPageMax: 1_000,
  /** Maximum number of messages that a request scans for events in a state. */
  maxMessagesScanned: 1_000,
  /** A page ends before the entry that exceeds this size. The first entry of a page omits values that do not fit. */
  maxPageBytes: 16 * MiB,
  /** Approximate size of the parts in which long lists are read and sent. */
  partBytes: MiB,
  /** Shorter JSON responses are not compressed. */
  minCompressedBytes: 2 * KiB,
  /** Maximum number of responses that are compressed at the same time. Node has four threads for this and for file access. */
  maxCompressions: 3,
  partRows: 2_000,
  /** Assumed size of a list row in addition to its texts. */
  assumedRowBytes: 200,
  /** A longer result of a run is not read with its record. */
  maxInlineBytes: 64 * KiB,
  /** Longer values are redacted completely instead of by field, and are compared as text. */
  maxParsedValueBytes: MiB,
  /** Maximum number of invocations listed in the log of a run. */
  maxListedInvocations: 10_000,
  /** Maximum size of the data read for responses in progress. Small responses do not count. */
  maxReadBytes: 64 * MiB,
  /** Maximum share of one queue instance, of the search indexes of an account, and of an account if several own instances. */
  maxReadBytesOfOwner: 32 * MiB,
  /** Maximum time that a response waits for this memory; then the request is rejected. */
  readWaitMs: 10 * SECOND_MS,
  maxWaitingReads: 100,
  /** Maximum time for sending a long response. A slower client is disconnected. */
  maxResponseMs: 5 * MINUTE_MS,

  // virtual clock
  maxClockMoveMs: 10 * 366 * DAY_MS,
  /** End of the year 9999. Times up to this one have their usual formats. */
  maxClockTime: 253_402_300_799_999,
  /** Number of run times of a schedule in ten weeks, at one per minute. */
  maxClockInstants: 100_000,
  /** Maximum time to wait for the work that is due at one instant. */
  clockQuietTimeoutMs: 2 * MINUTE_MS,

  // waiting for results
  defaultResultWaitMs: 30 * SECOND_MS,
  maxResultWaitMs: 10 * MINUTE_MS,
  /** Maximum number of requests that wait for a result; at most three quarters of the served connections. */
  maxResultWaits: 10_000,

  // runtime
  maxDeliveriesInFlight: 512,
  maxConnectionsPerHost: 256,
  /** A delivery with a longer timeout counts as long. */
  longDeliveryMs: 15 * MINUTE_MS,
  /** Maximum number of slots for long deliveries. */
  maxLongDeliveriesInFlight: 256,
  /** Maximum number of active runs in memory, and the approximate size of their states. */
  maxCachedRuns: 5_000,
  maxCachedRunBytes: 128 * MiB,
  /** A larger run is heavy. Those in delivery use at most `maxCachedRunBytes`; each counts for at most `maxKeptEventBytes`. */
  heavyRunBytes: 256 * KiB,
  /** Maximum number of concurrent name lookups, and of those with a blocking function of the operating system. */
  maxLookups: 256,
  maxBlockingLookups: 4,
  lookupTimeoutMs: 5 * SECOND_MS,
  /** Bounds for the time that a DNS answer is cached. */
  minNameFreshMs: 5 * SECOND_MS,
  maxNameFreshMs: 5 * MINUTE_MS,
  /** Time that a missing name, or a failed lookup, is cached. */
  negativeNameFreshMs: 5 * SECOND_MS,
  failedNameFreshMs: 2 * SECOND_MS,
  /** Maximum time that an expired answer is used while lookups fail. */
  maxNameStaleMs: 5 * MINUTE_MS,
  maxKnownNames: 10_000,
  /** Minimum interval between advances of a run while other steps of it are in flight. */
  advanceCoalesceMs: 20,
  /** Interval of the scan for runs to remove after their retention. */
  retentionEveryMs: 5 * MINUTE_MS,
  /** Default retention of the counters of insights by minute and by hour. */
  insightMinutesMs: 48 * HOUR_MS,
  insightHoursMs: 90 * DAY_MS,
  /** Target duration of one transaction that removes runs after their retention; the batch size adapts to it. */
  retentionStepMs: 10,
  minRetentionBatch: 10,
  maxRetentionBatch: 200,
  /** Number of rows of a deleted queue instance removed in one step. */
  minRemovedRows: 50,
  maxRemovedRows: 2_000,
  /** Maximum delay until a node finds a deletion whose notice it missed. */
  deletedInstancePollMs: 5 * SECOND_MS,
  /** Interval of the scan for rows written after a deletion. */
  deletedInstanceRecheckMs: MINUTE_MS,
  /** Time after which no request admitted before the deletion is in progress. */
  deletedInstanceKeptMs: 15 * MINUTE_MS,
  signatureLifetimeS: 300,
});

/** Limits of one part of a long list. */
export const PART_LIMITS = Object.freeze({ maxRows: LIMITS.partRows, maxBytes: LIMITS.partBytes });

/** The n-th retry waits e^(2.5 n) seconds, at most a day. */
export const BACKOFF = Object.freeze({ exponent: 2.5, maxMs: DAY_MS });

export function assertLimits(limits: Readonly<Record<keyof typeof LIMITS, number>> = LIMITS): void {
  const relations: readonly (readonly [boolean, string])[] = [
    [limits.defaultRetries <= limits.maxRetries, 'defaultRetries <= maxRetries'],
    [limits.maxBatchBytes <= limits.maxHeldBodyBytesOfOwner, 'maxBatchBytes <= maxHeldBodyBytesOfOwner'],
    [
      limits.maxBatchBytes + limits.maxBatchItems * limits.assumedMessageBytes <= limits.maxPublishedBytes,
      'maxBatchBytes + maxBatchItems * assumedMessageBytes <= maxPublishedBytes',
    ],
    [limits.maxHeldBodyBytesOfOwner < limits.maxHeldBodyBytes, 'maxHeldBodyBytesOfOwner < maxHeldBodyBytes'],
    [limits.minRetentionBatch <= limits.maxRetentionBatch, 'minRetentionBatch <= maxRetentionBatch'],
    [limits.maxStepResultBytes <= limits.maxReplyBytes, 'maxStepResultBytes <= maxReplyBytes'],
    [largestReplyBytes(limits) <= limits.maxReplyBytes, 'largestReplyBytes <= maxReplyBytes'],
    [limits.maxCheckpointSteps <= limits.maxPlannedAtOnce, 'maxCheckpointSteps <= maxPlannedAtOnce'],
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
    [limits.alertsPageDefault <= limits.alertsPageMax, 'alertsPageDefault <= alertsPageMax'],
    [limits.userPageDefault <= limits.userPageMax, 'userPageDefault <= userPageMax'],
    [limits.auditPageDefault <= limits.auditPageMax, 'auditPageDefault <= auditPageMax'],
    [limits.maxFailedLogins <= limits.maxFailedLoginsTotal, 'maxFailedLogins <= maxFailedLoginsTotal'],
    [limits.maxSearchDocumentBytes <= limits.maxBodyBytes, 'maxSearchDocumentBytes <= maxBodyBytes'],
    [limits.searchResultsDefault <= limits.maxSearchResults, 'searchResultsDefault <= maxSearchResults'],
    [limits.maxKeptResponseBytes <= limits.maxReplyBytes, 'maxKeptResponseBytes <= maxReplyBytes'],
    [limits.defaultDeliveryTimeoutMs <= limits.longDeliveryMs, 'defaultDeliveryTimeoutMs <= longDeliveryMs'],
    [limits.maxLongDeliveriesInFlight < limits.maxDeliveriesInFlight, 'maxLongDeliveriesInFlight < maxDeliveriesInFlight'],
    [limits.minNameFreshMs <= limits.maxNameFreshMs, 'minNameFreshMs <= maxNameFreshMs'],
    [limits.maxReplyBytes * 4 <= limits.maxReplyBytesInMemory, 'maxReplyBytes * 4 <= maxReplyBytesInMemory'],
    [limits.maxKeptEventBytes * 2 <= limits.maxCachedRunBytes, 'maxKeptEventBytes * 2 <= maxCachedRunBytes'],
    [limits.maxKeptAttemptBodyBytes <= limits.maxKeptResponseBytes, 'maxKeptAttemptBodyBytes <= maxKeptResponseBytes'],
    [limits.maxReplyBytes < limits.maxWorkerMessageBytes, 'maxReplyBytes < maxWorkerMessageBytes'],
    [limits.maxWorkersPerInstance <= limits.maxWorkers, 'maxWorkersPerInstance <= maxWorkers'],
    [limits.maxUnacceptedWorkersPerNetwork < limits.maxUnacceptedWorkers, 'maxUnacceptedWorkersPerNetwork < the total'],
    [limits.maxInlineBytes <= limits.partBytes, 'maxInlineBytes <= partBytes'],
    [limits.maxStepResultBytes <= limits.maxPageBytes, 'maxStepResultBytes <= maxPageBytes'],
    // Two of the longest values are in memory at a time: one is read while the other is sent.
    [2 * limits.maxStepResultBytes <= limits.maxReadBytesOfOwner, '2 * maxStepResultBytes <= maxReadBytesOfOwner'],
    [limits.maxPageBytes <= limits.maxReadBytesOfOwner, 'maxPageBytes <= maxReadBytesOfOwner'],
    [limits.maxReadBytesOfOwner <= limits.maxReadBytes, 'maxReadBytesOfOwner <= maxReadBytes'],
  ];
  for (const [isMet, text] of relations) if (!isMet) throw new Error(`limits contradict each other: ${text} must hold`);
}
