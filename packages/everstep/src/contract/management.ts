/** Wire schemas of the management API. Field names are snake_case; times are Unix seconds. */
import Type, { type Static } from 'typebox';
import { LIMITS } from '../config/limits.js';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';
import { creationTime, customerId, id } from './fields/record-fields.js';
import { patternOption } from './patterns.js';

export const AccountName = (description: string) =>
  Type.String({ minLength: 1, maxLength: LIMITS.maxAccountNameLength, ...patternOption('visible'), description });
export const RecordId = (description: string) => Type.String({ minLength: 1, maxLength: LIMITS.maxRecordIdLength, description });
export const Email = (description: string) =>
  Type.String({
    minLength: 3,
    maxLength: LIMITS.maxEmailLength,
    ...patternOption('email'),
    description,
  });

const role = Type.Enum(['owner', 'admin', 'dev', 'finance'], {
  type: 'string',
  description: 'Role of the caller in the account.',
});
const limit = (description: string) =>
  Type.Union([Type.Number(), Type.Null()], { description: `${description} Null if the plan sets no limit.` });

/** Response of operations that return no data. */
export const Ok = Type.Literal('OK');

export const PlanRecord = Type.Object(
  {
    name: Type.String(),
    max_message_bytes: limit('Maximum size of a message body in bytes.'),
    log_retention_ms: limit('Maximum time that runs are retained after they end, in milliseconds.'),
    dead_letter_retention_ms: limit('Maximum time that dead letters are retained, in milliseconds.'),
    max_parallelism: limit('Maximum number of deliveries in flight.'),
    max_schedules: limit('Maximum number of schedules.'),
    max_requests_per_day: limit(
      'Maximum number of runs that triggers, invocations, resumes, restarts and schedules start in a day (UTC).',
    ),
    api_calls_per_second: limit('Maximum number of runtime API calls per second.'),
    max_timeout_ms: limit('Maximum duration of one delivery, in milliseconds.'),
    max_queues: limit('Maximum number of queues.'),
    max_url_groups: limit('Maximum number of URL groups.'),
    max_flow_control_keys: limit('Maximum number of flow control keys.'),
    max_stored_bytes: limit('Maximum number of bytes that the account stores.'),
    max_active_runs: limit('Maximum number of active runs and messages of the account.'),
    max_instances: limit('Maximum number of queue instances of the account.'),
    max_search_indexes: limit('Maximum number of search indexes of the account.'),
    max_teams: limit('Maximum number of teams that the user owns.'),
    max_team_members: limit('Maximum number of members of a team.'),
    price_per_100k_messages: Type.Number({ description: 'Price of 100,000 messages in dollars.' }),
  },
  {
    ...NO_OTHER_PROPERTIES,
    description: 'Named set of limits. Limits of the account are the largest among the plans of its queue instances.',
  },
);
export type PlanRecord = Static<typeof PlanRecord>;

export const InstanceRecord = Type.Object(
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
        description:
          'The instance was deleted and its data is being removed. Its tokens are rejected. Absent while the instance is in use.',
      }),
    ),
    requests_today: Type.Integer({
      description: 'Number of runs that were started today (UTC). Limited by `max_requests_per_day`.',
    }),
    budget: Type.Integer({ description: 'Budget in dollars per calendar month (UTC). 0 means no limit.' }),
    budget_alert_url: Type.Optional(
      Type.String({ description: 'URL that is notified when 80% and 100% of the budget are spent.' }),
    ),
    token: Type.Optional(Type.String({ description: 'Token that can read and write. Only for users who may use the instance.' })),
    read_only_token: Type.Optional(
      Type.String({ description: 'Token that can only read. Only for users who may use the instance.' }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Queue instance.' },
);
export type InstanceRecord = Static<typeof InstanceRecord>;

export const TokenScopes = Type.Array(
  Type.Union(
    [
      // This schema comes first, because its error message names all scopes.
      Type.Unsafe<`connect:${string}`>(Type.String({ ...patternOption('connectScope') })),
      Type.Enum(['trigger', 'notify', 'read-metadata', 'read', 'write', 'connect'], { type: 'string' }),
    ],
    {
      description:
        '`trigger`: start runs and publish messages. `notify`: notify waiters of events. `read-metadata`: read everything except payloads, results and headers. `read`: read everything. `write`: all operations. `connect`: connect workers. `connect:<app>`: connect workers of one app.',
    },
  ),
  { minItems: 1, maxItems: LIMITS.maxTokenScopes, uniqueItems: true },
);

export const TokenEntry = Type.Object(
  {
    id,
    queue_id: Type.String({ description: 'Id of the queue instance.' }),
    name: Type.String(),
    scopes: TokenScopes,
    is_permanent: Type.Boolean({ description: 'Whether the token was created together with the queue instance.' }),
    creation_time: creationTime,
    created_by: Type.Optional(Type.String({ description: 'Email of the user who created the token.' })),
    expiration_time: Type.Optional(
      Type.Integer({ format: 'int64', description: 'Time when the token expires, in Unix seconds.' }),
    ),
    revocation_time: Type.Optional(
      Type.Integer({ format: 'int64', description: 'Time when the token was revoked, in Unix seconds.' }),
    ),
    last_use_time: Type.Optional(
      Type.Integer({
        format: 'int64',
        description: 'Time of the last use, in Unix seconds. Updated at most once every ten minutes. Only for named tokens.',
      }),
    ),
    token: Type.Optional(Type.String({ description: 'The token itself. Only in the response that creates it.' })),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Token of a queue instance.' },
);
export type TokenEntry = Static<typeof TokenEntry>;
const destinations = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.maxOutboundRuleLength }), {
    maxItems: LIMITS.maxOutboundRules,
    description: `${description} Each is a host name, IP address or CIDR range with an optional port, for example \`*.example.com:443\`.`,
  });

export const AllowedDestinations = destinations('Private destinations that this queue instance may call.');
export const DeniedDestinations = destinations('Destinations that this queue instance is not allowed to call.');
export const OnlyDestinations = Type.Union(
  [destinations('The only destinations that this queue instance may call.'), Type.Null()],
  {
    description: 'Null allows all destinations.',
  },
);

export const OutboundRulesRecord = Type.Object(
  { id, allow: AllowedDestinations, deny: DeniedDestinations, only: OnlyDestinations },
  {
    ...NO_OTHER_PROPERTIES,
    description: 'Destinations that a queue instance may call, in addition to the rules of the installation.',
  },
);
export type OutboundRulesRecord = Static<typeof OutboundRulesRecord>;

export const QueueStats = Type.Object(
  {
    id,
    customer_id: customerId,
    months: Type.Array(
      Type.Object(
        {
          month: Type.String({ description: 'Month (UTC), for example 2026-11.' }),
          messages: Type.Integer(),
          dollars: Type.Number(),
        },
        NO_OTHER_PROPERTIES,
      ),
      { description: 'Calendar months (UTC) that overlap the period, newest first, as billed to the current owner.' },
    ),
    budget: Type.Integer({ description: 'Budget in dollars per calendar month (UTC). 0 means no limit.' }),
    spent: Type.Number({ description: 'Amount spent this month, in dollars.' }),
    storage: Type.Object(
      {
        instance_bytes: Type.Integer({ format: 'int64', description: 'Number of bytes that this queue instance stores.' }),
        account_bytes: Type.Integer({
          format: 'int64',
          description: 'Number of bytes that all queue instances and search indexes of the account store.',
        }),
        max_bytes: limit('Maximum number of bytes that the account may store.'),
        active_runs: Type.Integer({ description: 'Number of active runs and messages of the account.' }),
        max_active_runs: limit('Maximum number of active runs and messages of the account.'),
      },
      NO_OTHER_PROPERTIES,
    ),
    refused: Type.Array(Type.String(), {
      description: 'What is currently rejected, as sentences. Empty when nothing is rejected.',
    }),
    requests_today: Type.Integer({
      description: 'Number of runs that were started today (UTC). Limited by `max_requests_per_day`.',
    }),
    refusals: Type.Array(
      Type.Object(
        {
          kind: Type.String({
            description:
              'Error code of the rejected requests. The prefix `tick-` means that a schedule could not start a run at its run time. The prefix `step-` means that a step failed its run.',
          }),
          count: Type.Integer(),
          last_time: Type.Integer({ format: 'int64', description: 'Time of the last rejection, in Unix seconds.' }),
        },
        NO_OTHER_PROPERTIES,
      ),
      { description: 'Requests that were rejected on the days (UTC) of the period, by kind, most recent first.' },
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Usage, limits and rejected requests of a queue instance.' },
);

export type QueueStats = Static<typeof QueueStats>;

export const InstanceUsage = Type.Object(
  {
    id,
    customer_id: customerId,
    days: Type.Array(
      Type.Object(
        {
          day: Type.String({ description: 'Day (UTC), for example 2026-11-21.' }),
          messages: Type.Integer(),
          dollars: Type.Number(),
        },
        NO_OTHER_PROPERTIES,
      ),
      { description: 'Every requested day, oldest first and today last, as billed to the current owner.' },
    ),
    budget: Type.Integer({ description: 'Budget in dollars per calendar month (UTC). 0 means no limit.' }),
    spent_this_month: Type.Number({ description: 'Amount spent this month, in dollars.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Usage of a queue instance per day.' },
);
export type InstanceUsage = Static<typeof InstanceUsage>;

export const TeamEntry = Type.Object(
  {
    id,
    team_id: Type.String({ description: 'Same as `id`.' }),
    customer_id: customerId,
    name: Type.String(),
    team_name: Type.String({ description: 'Same as `name`.' }),
    creation_time: creationTime,
    role,
  },
  { ...NO_OTHER_PROPERTIES, description: 'Team, as one of its members sees it.' },
);
export type TeamEntry = Static<typeof TeamEntry>;

export const TeamMember = Type.Object(
  {
    id: Type.String({ description: 'Id of the user. While the status is `invited`, id of the invitation.' }),
    team_id: Type.String(),
    customer_id: customerId,
    member_email: Type.String(),
    member_role: Type.Enum(['owner', 'admin', 'dev', 'finance'], { type: 'string' }),
    creation_time: creationTime,
    status: Type.Enum(['member', 'invited'], {
      type: 'string',
      description: '`invited`: the invitation is pending.',
    }),
    expiration_time: Type.Optional(
      Type.Integer({ format: 'int64', description: 'Time when the pending invitation expires, in Unix seconds.' }),
    ),
    invitation_secret: Type.Optional(
      Type.String({ description: 'Secret to pass on to the invited person. It is shown once and can be used once.' }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Member of a team, or a pending invitation.' },
);
export type TeamMember = Static<typeof TeamMember>;

export const InvitationSecret = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'The `invitation_secret` that the inviter passed on.',
});

export const JoinedTeam = Type.Object(
  {
    id: Type.String({ description: 'Id of the user.' }),
    team_id: Type.String(),
    team_name: Type.String(),
    member_email: Type.String(),
    member_role: Type.Enum(['owner', 'admin', 'dev', 'finance'], { type: 'string' }),
    api_key: Type.Optional(
      Type.String({ description: 'First API key of the user, if accepting the invitation created the user. It is shown once.' }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Result of accepting an invitation.' },
);
export type JoinedTeam = Static<typeof JoinedTeam>;

export const ApiKeyEntry = Type.Object(
  {
    id,
    customer_id: customerId,
    name: Type.String(),
    creation_time: creationTime,
    revocation_time: Type.Optional(
      Type.Integer({
        format: 'int64',
        description: 'Time when the key was revoked, in Unix seconds. Absent while the key is valid.',
      }),
    ),
    api_key: Type.Optional(Type.String({ description: 'The key itself. It is shown once.' })),
  },
  { ...NO_OTHER_PROPERTIES, description: 'API key of a user.' },
);
export type ApiKeyEntry = Static<typeof ApiKeyEntry>;

export const IdentityEntry = Type.Object(
  {
    id,
    issuer: Type.String({ description: 'URL of the identity provider.' }),
    subject: Type.String({ description: 'Id of the person at the identity provider.' }),
    creation_time: creationTime,
  },
  { ...NO_OTHER_PROPERTIES, description: 'Identity with which a user signs in.' },
);
export type IdentityEntry = Static<typeof IdentityEntry>;

export const RecoveryLink = Type.Object(
  {
    recovery_secret: Type.String({ description: 'Secret that gives the user one API key. It is shown once.' }),
    expiration_time: Type.Integer({ format: 'int64', description: 'Time when the secret expires, in Unix seconds.' }),
  },
  {
    ...NO_OTHER_PROPERTIES,
    description: 'Link that gives a user one API key. Its page is `<dashboard>/login#<recovery_secret>`.',
  },
);
export type RecoveryLink = Static<typeof RecoveryLink>;

export const Recovered = Type.Object(
  {
    id: Type.String({ description: 'Id of the API key.' }),
    email: Type.String(),
    api_key: Type.String({ description: 'The key itself. It is shown once.' }),
  },
  NO_OTHER_PROPERTIES,
);
export type Recovered = Static<typeof Recovered>;

export const UserEntry = Type.Object(
  {
    id,
    email: Type.String(),
    creation_time: creationTime,
    is_operator: Type.Boolean(),
    disabled_time: Type.Optional(
      Type.Integer({
        format: 'int64',
        description: 'Time when the user was disabled, in Unix seconds. Absent while the user is enabled.',
      }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'User of the installation.' },
);
export type UserEntry = Static<typeof UserEntry>;
export const UserPage = Type.Object(
  {
    cursor: Type.String({ description: 'Cursor for the next page; empty when there are no more results.' }),
    users: Type.Array(UserEntry),
  },
  { ...NO_OTHER_PROPERTIES, description: 'One page of users.' },
);
export type UserPage = Static<typeof UserPage>;

export const AccountEntry = Type.Object(
  {
    id: Type.String({ description: 'Id of the user and of the personal account.' }),
    customer_id: Type.String({ description: 'Same as `id`.' }),
    email: Type.String(),
    creation_time: creationTime,
    accounts: Type.Array(Type.Object({ id: Type.String(), role }, NO_OTHER_PROPERTIES), {
      description: 'Accounts that the user can access, the personal account first.',
    }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'The user who sent the request.' },
);

export type AccountEntry = Static<typeof AccountEntry>;
