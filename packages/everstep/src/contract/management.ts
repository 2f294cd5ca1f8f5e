/** Wire schemas of the management API. Its fields are written in snake_case; times are Unix seconds. */
import Type, { type Static } from 'typebox';
import { LIMITS } from '../config/limits.js';
import { like } from './patterns.js';

const CLOSED = { additionalProperties: false } as const;

export const AccountName = (description: string) =>
  Type.String({ minLength: 1, maxLength: LIMITS.maxAccountNameLength, ...like('visible'), description });
export const RecordId = (description: string) => Type.String({ minLength: 1, maxLength: LIMITS.maxRecordIdLength, description });
export const Email = (description: string) =>
  Type.String({
    minLength: 3,
    maxLength: LIMITS.maxEmailLength,
    ...like('email'),
    description,
  });

const id = Type.String({ description: 'Unguessable, and sortable by creation.' });
const customerId = Type.String({ description: 'The account that owns it: of a user or of a team.' });
const creationTime = Type.Integer({ format: 'int64', description: 'Unix seconds' });
const role = Type.Enum(['owner', 'admin', 'dev', 'finance'], { type: 'string', description: 'Of the caller in that account.' });
const limit = (description: string) =>
  Type.Union([Type.Number(), Type.Null()], { description: `${description}; null: no limit of the plan.` });

/** What the five operations of the specification answer, and others that have nothing to tell. */
export const Ok = Type.Literal('OK');

export const PlanRecord = Type.Object(
  {
    name: Type.String(),
    max_message_bytes: limit('Largest body of a message, bytes'),
    log_retention_ms: limit('How long runs are kept after their end, at most'),
    dead_letter_retention_ms: limit('How long dead letters are kept, at most'),
    max_parallelism: limit('Deliveries in flight'),
    max_schedules: limit('Schedules'),
    max_requests_per_day: limit(
      'Runs that are started in a UTC day by triggers, invocations, resumes, restarts and ticks of schedules',
    ),
    api_calls_per_second: limit('Calls of the runtime API'),
    max_timeout_ms: limit('The longest that one delivery may take'),
    max_queues: limit('Queues'),
    max_url_groups: limit('URL groups'),
    max_flow_control_keys: limit('Flow control keys'),
    max_stored_bytes: limit('Bytes that the account stores in all'),
    max_active_runs: limit('Active runs and messages of the account'),
    max_instances: limit('Queue instances of the account'),
    max_search_indexes: limit('Search indexes of the account'),
    max_teams: limit('Teams that the user is an owner of'),
    max_team_members: limit('Members of a team'),
    price_per_100k_messages: Type.Number({ description: 'Dollars' }),
  },
  CLOSED,
);
export type PlanRecord = Static<typeof PlanRecord>;

export const QueueRecord = Type.Object(
  {
    id,
    customer_id: customerId,
    name: Type.String(),
    region: Type.String(),
    creation_time: creationTime,
    role,
    plan: Type.String(),
    limits: PlanRecord,
    state: Type.Optional(
      Type.Literal('deleting', {
        description: 'It was deleted, and its data is being removed: its tokens are refused. Absent: it is in use.',
      }),
    ),
    requests_today: Type.Integer({ description: 'Runs that were started today (UTC), which max_requests_per_day bounds.' }),
    budget: Type.Integer({ description: 'Dollars a calendar month (UTC); 0: no limit.' }),
    budget_alert_url: Type.Optional(Type.String({ description: 'Told when 80 % and 100 % of the budget are spent.' })),
    token: Type.Optional(Type.String({ description: 'Reads and writes. For those who may use the instance.' })),
    read_only_token: Type.Optional(Type.String({ description: 'Reads. For those who may use the instance.' })),
  },
  CLOSED,
);
export type QueueRecord = Static<typeof QueueRecord>;

export const TokenScopes = Type.Array(
  Type.Enum(['trigger', 'notify', 'read-metadata', 'read', 'write', 'connect'], {
    type: 'string',
    description:
      '`trigger`: start runs and publish messages. `notify`: notify events. `read-metadata`: read without payloads, results and headers. `read`: read. `write`: everything. `connect`: connections of workers.',
  }),
  { minItems: 1, maxItems: 6, uniqueItems: true },
);

export const TokenEntry = Type.Object(
  {
    id,
    queue_id: Type.String({ description: 'The queue instance.' }),
    name: Type.String(),
    scopes: TokenScopes,
    is_permanent: Type.Boolean({ description: 'One of the tokens that the queue instance was created with.' }),
    creation_time: creationTime,
    created_by: Type.Optional(Type.String({ description: 'E-mail of the user.' })),
    expiration_time: Type.Optional(Type.Integer({ format: 'int64', description: 'Unix seconds' })),
    revocation_time: Type.Optional(Type.Integer({ format: 'int64', description: 'Unix seconds' })),
    last_use_time: Type.Optional(
      Type.Integer({ format: 'int64', description: 'Unix seconds, up to ten minutes late. Of named tokens.' }),
    ),
    token: Type.Optional(Type.String({ description: 'The token itself, once: in the answer that creates it.' })),
  },
  CLOSED,
);
export type TokenEntry = Static<typeof TokenEntry>;
const destinations = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.maxOutboundRuleLength }), {
    maxItems: LIMITS.maxOutboundRules,
    description: `${description} Each is a host name, IP address or CIDR range, with or without a port, such as *.example.com:443.`,
  });

export const AllowedDestinations = destinations('Private destinations that this queue instance may call.');
export const DeniedDestinations = destinations('Destinations that this queue instance does not call.');
export const OnlyDestinations = Type.Union([destinations('The only destinations that this queue instance calls.'), Type.Null()], {
  description: 'The only destinations that this queue instance calls; null: no such bound.',
});

export const OutboundRulesRecord = Type.Object(
  { id, allow: AllowedDestinations, deny: DeniedDestinations, only: OnlyDestinations },
  CLOSED,
);
export type OutboundRulesRecord = Static<typeof OutboundRulesRecord>;

export const QueueStats = Type.Object(
  {
    id,
    customer_id: customerId,
    months: Type.Array(
      Type.Object(
        {
          month: Type.String({ description: 'UTC, such as 2026-11' }),
          messages: Type.Integer(),
          dollars: Type.Number(),
        },
        CLOSED,
      ),
      { description: 'The calendar months (UTC) that the period touches, newest first, as billed to the present owner.' },
    ),
    budget: Type.Integer({ description: 'Dollars a month; 0: no limit.' }),
    spent: Type.Number({ description: 'Dollars in this month.' }),
    storage: Type.Object(
      {
        instance_bytes: Type.Integer({ format: 'int64', description: 'Bytes that this queue instance stores.' }),
        account_bytes: Type.Integer({
          format: 'int64',
          description: 'Bytes that all queue instances and search indexes of its account store.',
        }),
        max_bytes: limit('Bytes that the account may store'),
        active_runs: Type.Integer({ description: 'Active runs and messages of the account.' }),
        max_active_runs: limit('Active runs and messages that the account may have'),
      },
      CLOSED,
    ),
    refused: Type.Array(Type.String(), { description: 'What is refused now, in words; empty when nothing is.' }),
    requests_today: Type.Integer({ description: 'Runs that were started today (UTC), which max_requests_per_day bounds.' }),
    refusals: Type.Array(
      Type.Object(
        {
          kind: Type.String({
            description:
              'The error code of what was refused. With tick- before it: a tick of a schedule started no run; with step-: a run failed by a step.',
          }),
          count: Type.Integer(),
          last_time: Type.Integer({ format: 'int64', description: 'Unix seconds' }),
        },
        CLOSED,
      ),
      { description: 'What was refused on the days (UTC) that the period touches, by kind; the last first.' },
    ),
  },
  CLOSED,
);

export type QueueStats = Static<typeof QueueStats>;

export const QueueUsage = Type.Object(
  {
    id,
    customer_id: customerId,
    days: Type.Array(
      Type.Object(
        { day: Type.String({ description: 'UTC, such as 2026-11-21' }), messages: Type.Integer(), dollars: Type.Number() },
        CLOSED,
      ),
      { description: 'Every day asked for, oldest first and today last, as billed to the present owner.' },
    ),
    budget: Type.Integer({ description: 'Dollars a calendar month (UTC); 0: no limit.' }),
    spent_this_month: Type.Number({ description: 'Dollars.' }),
  },
  CLOSED,
);
export type QueueUsage = Static<typeof QueueUsage>;

export const TeamEntry = Type.Object(
  {
    id,
    team_id: Type.String({ description: 'The same as id.' }),
    customer_id: customerId,
    name: Type.String(),
    team_name: Type.String({ description: 'The same as name.' }),
    creation_time: creationTime,
    role,
  },
  CLOSED,
);
export type TeamEntry = Static<typeof TeamEntry>;

export const TeamMember = Type.Object(
  {
    id: Type.String({ description: 'Of the user; of the invitation while the status is invited.' }),
    team_id: Type.String(),
    customer_id: customerId,
    member_email: Type.String(),
    member_role: Type.Enum(['owner', 'admin', 'dev', 'finance'], { type: 'string' }),
    creation_time: creationTime,
    status: Type.Enum(['member', 'invited'], {
      type: 'string',
      description: 'invited: pending until the invited person accepts.',
    }),
    expiration_time: Type.Optional(
      Type.Integer({ format: 'int64', description: 'Unix seconds. When the pending invitation expires.' }),
    ),
    invitation_secret: Type.Optional(
      Type.String({ description: 'Pass it on to the invited person. It is shown this once and works once.' }),
    ),
  },
  CLOSED,
);
export type TeamMember = Static<typeof TeamMember>;

export const InvitationSecret = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'The invitation_secret that the inviter passed on.',
});

export const JoinedTeam = Type.Object(
  {
    id: Type.String({ description: 'Of the user.' }),
    team_id: Type.String(),
    team_name: Type.String(),
    member_email: Type.String(),
    member_role: Type.Enum(['owner', 'admin', 'dev', 'finance'], { type: 'string' }),
    api_key: Type.Optional(
      Type.String({ description: 'The first API key of a user who was created by this. It is shown this once.' }),
    ),
  },
  CLOSED,
);
export type JoinedTeam = Static<typeof JoinedTeam>;

export const ApiKeyEntry = Type.Object(
  {
    id,
    customer_id: customerId,
    name: Type.String(),
    creation_time: creationTime,
    revocation_time: Type.Optional(Type.Integer({ format: 'int64', description: 'Unix seconds; absent: the key is good.' })),
    api_key: Type.Optional(Type.String({ description: 'The key itself. It is shown this once.' })),
  },
  CLOSED,
);
export type ApiKeyEntry = Static<typeof ApiKeyEntry>;

export const RecoveryLink = Type.Object(
  {
    recovery_secret: Type.String({ description: 'Gives the user one API key. It is shown this once.' }),
    expiration_time: Type.Integer({ format: 'int64', description: 'Unix seconds' }),
  },
  CLOSED,
);
export type RecoveryLink = Static<typeof RecoveryLink>;

export const Recovered = Type.Object(
  {
    id: Type.String({ description: 'Id of the API key.' }),
    email: Type.String(),
    api_key: Type.String({ description: 'Shown this once.' }),
  },
  CLOSED,
);
export type Recovered = Static<typeof Recovered>;

export const UserEntry = Type.Object(
  {
    id,
    email: Type.String(),
    creation_time: creationTime,
    is_operator: Type.Boolean(),
    disabled_time: Type.Optional(Type.Integer({ format: 'int64', description: 'Unix seconds; absent: not disabled.' })),
  },
  CLOSED,
);
export type UserEntry = Static<typeof UserEntry>;
export const UserPage = Type.Object(
  { cursor: Type.String({ description: 'Of the next page; empty at the end.' }), users: Type.Array(UserEntry) },
  CLOSED,
);
export type UserPage = Static<typeof UserPage>;

export const AccountEntry = Type.Object(
  {
    id: Type.String({ description: 'Of the user, and of the personal account.' }),
    customer_id: Type.String({ description: 'The same as id.' }),
    email: Type.String(),
    creation_time: creationTime,
    accounts: Type.Array(Type.Object({ id: Type.String(), role }, CLOSED), {
      description: 'The accounts that the user may see, the personal one first.',
    }),
  },
  CLOSED,
);

export type AccountEntry = Static<typeof AccountEntry>;

const AuditedRequest = Type.Object(
  {
    operation: Type.String({ description: 'The operationId of the API, or the name of a command of the control socket.' }),
    credential: Type.String({ description: 'Such as api-key key_1, session ses_1, token tok_1 (name), or none.' }),
    user_agent: Type.String({ description: 'The beginning of the header User-Agent.' }),
    queue_id: Type.Union([Type.String(), Type.Null()], { description: 'The queue instance that the request was about.' }),
    outcome: Type.Union([Type.Literal('done'), Type.Literal('refused')]),
  },
  {
    ...CLOSED,
    description: 'The request that led to the entry; absent where there was none, or in entries of earlier versions.',
  },
);

export const AuditLogEntry = Type.Object(
  {
    id,
    customer_id: customerId,
    actor: Type.String({ description: 'E-mail of the user, or operator.' }),
    action: Type.String({ description: 'Such as queue.move-to-team.' }),
    subject: Type.String({ description: 'Id of what was changed.' }),
    details: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])),
    address: Type.String({ description: 'Where the request came from.' }),
    request: Type.Optional(AuditedRequest),
    creation_time: creationTime,
  },
  CLOSED,
);
export type AuditLogEntry = Static<typeof AuditLogEntry>;
export const AuditLogPage = Type.Object(
  { cursor: Type.String({ description: 'Of the next page; empty at the end.' }), auditlogs: Type.Array(AuditLogEntry) },
  CLOSED,
);
export type AuditLogPage = Static<typeof AuditLogPage>;

const chainPosition = (description: string) =>
  Type.Object({ seq: Type.Integer(), hash: Type.String({ description: 'SHA-256, hex.' }) }, { ...CLOSED, description });

export const AuditVerification = Type.Object(
  {
    checked: Type.Integer({ description: 'Entries that this request checked.' }),
    faults: Type.Array(
      Type.Object(
        {
          seq: Type.Integer(),
          id: Type.Union([Type.String(), Type.Null()], { description: 'Of the entry; null: it is gone.' }),
          kind: Type.Union([Type.Literal('changed'), Type.Literal('removed'), Type.Literal('inserted')], {
            description: 'changed: the entry was changed, or entries before it are gone with their hashes.',
          }),
        },
        CLOSED,
      ),
    ),
    next: Type.Union([Type.Integer(), Type.Null()], { description: 'Give it as after to check the rest; null at the end.' }),
    anchor: chainPosition('The last entry that was removed after its retention.'),
    head: chainPosition('The last entry of the chain.'),
    known: Type.Optional(
      Type.Union([Type.Literal('found'), Type.Literal('missing'), Type.Literal('expired')], {
        description: 'Whether the chain has the entry given as known; expired: it is older than the retention.',
      }),
    ),
  },
  CLOSED,
);
export type AuditVerification = Static<typeof AuditVerification>;

/** A line of the export. */
export const AuditExportLine = Type.Object(
  {
    seq: Type.Integer({ description: 'Give that of the last line as after to continue.' }),
    hash: Type.String({ description: 'SHA-256, hex, over the entry and the hash of the line before.' }),
    id: Type.String(),
    at: Type.Integer({ description: 'Unix ms.' }),
    actor: Type.String(),
    action: Type.String(),
    subject: Type.String(),
    address: Type.String(),
    account_ids: Type.Array(Type.String()),
    details: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])),
    request: Type.Union([AuditedRequest, Type.Null()]),
  },
  { ...CLOSED, description: 'A line of JSON for each entry, oldest first.' },
);
export type AuditExportLine = Static<typeof AuditExportLine>;
