/** Converts account records to the format of the management API. */
import type { AcceptedInvitation, DeletedInstanceView, InstanceView, Plan, TokenView } from '../../accounts/account-service.js';
import type { AuditLogEntry } from '../../contract/audit.js';
import type {
  ApiKeyEntry,
  InstanceRecord,
  JoinedTeam,
  PlanRecord,
  TeamEntry,
  TeamMember,
  TokenEntry,
} from '../../contract/management.js';
import type {
  ApiKeyRecord,
  AuditEntry,
  InvitationRecord,
  MemberRecord,
  Role,
  TeamRecord,
} from '../../ports/stores/account-store.js';

export const toSeconds = (ms: number): number => Math.floor(ms / 1000);

export const presentPlan = (plan: Plan): PlanRecord => ({
  name: plan.name,
  max_message_bytes: plan.maxMessageBytes,
  log_retention_ms: plan.logRetentionMs,
  dead_letter_retention_ms: plan.deadLetterRetentionMs,
  max_parallelism: plan.maxParallelism,
  max_schedules: plan.maxSchedules,
  max_requests_per_day: plan.maxRequestsPerDay,
  api_calls_per_second: plan.apiCallsPerSecond,
  max_timeout_ms: plan.maxTimeoutMs,
  max_queues: plan.maxQueues,
  max_url_groups: plan.maxUrlGroups,
  max_flow_control_keys: plan.maxFlowControlKeys,
  max_stored_bytes: plan.maxStoredBytes,
  max_active_runs: plan.maxActiveRuns,
  max_instances: plan.maxInstances,
  max_search_indexes: plan.maxSearchIndexes,
  max_teams: plan.maxTeams,
  max_team_members: plan.maxTeamMembers,
  price_per_100k_messages: plan.pricePer100kMessages,
});

export function presentInstance({ instance, role, plan, requestsToday, token, readOnlyToken }: InstanceView): InstanceRecord {
  return {
    id: instance.instanceId,
    // Only instances with an owner are visible.
    customer_id: instance.accountId ?? '',
    name: instance.name,
    region: instance.region,
    creation_time: toSeconds(instance.createdAt),
    role,
    plan: plan.name,
    limits: presentPlan(plan),
    requests_today: requestsToday,
    budget: instance.budgetDollars ?? 0,
    ...(instance.budgetAlertUrl === undefined ? {} : { budget_alert_url: instance.budgetAlertUrl }),
    ...(token === undefined ? {} : { token }),
    ...(readOnlyToken === undefined ? {} : { read_only_token: readOnlyToken }),
  };
}

/**
 * Presents an instance that is being deleted. Its settings no longer exist, so it has the limits of the default plan.
 */
export const presentDeletedInstance = ({ deleted, role, plan }: DeletedInstanceView): InstanceRecord => ({
  id: deleted.instanceId,
  customer_id: deleted.accountId ?? '',
  name: deleted.name,
  region: deleted.region,
  creation_time: toSeconds(deleted.createdAt),
  role,
  state: 'deleting',
  plan: plan.name,
  limits: presentPlan(plan),
  requests_today: 0,
  budget: 0,
});

/** Presents a token. `token` is the token itself and is set only in the response that creates it. */
export const presentToken = (view: TokenView, token?: string): TokenEntry => ({
  id: view.tokenId,
  queue_id: view.instanceId,
  name: view.name,
  scopes: [...view.scopes],
  is_permanent: view.isPermanent,
  creation_time: toSeconds(view.createdAt),
  ...(view.createdBy === null ? {} : { created_by: view.createdBy }),
  ...(view.expiresAt === null ? {} : { expiration_time: toSeconds(view.expiresAt) }),
  ...(view.revokedAt === null ? {} : { revocation_time: toSeconds(view.revokedAt) }),
  ...(view.lastUsedAt === null ? {} : { last_use_time: toSeconds(view.lastUsedAt) }),
  ...(token === undefined ? {} : { token }),
});

export const presentTeam = ({ teamId, name, createdAt, role }: TeamRecord & { readonly role: Role }): TeamEntry => ({
  id: teamId,
  team_id: teamId,
  customer_id: teamId,
  name,
  team_name: name,
  creation_time: toSeconds(createdAt),
  role,
});

export const presentMember = ({ teamId, userId, email, role, addedAt }: MemberRecord): TeamMember => ({
  id: userId,
  team_id: teamId,
  customer_id: teamId,
  member_email: email,
  member_role: role,
  creation_time: toSeconds(addedAt),
  status: 'member',
});

/** Presents a pending invitation. `secret` is set only in the response that creates the invitation. */
export const presentInvitation = (
  { invitationId, teamId, email, role, createdAt, expiresAt }: InvitationRecord,
  secret: string | null = null,
): TeamMember => ({
  id: invitationId,
  team_id: teamId,
  customer_id: teamId,
  member_email: email,
  member_role: role,
  creation_time: toSeconds(createdAt),
  status: 'invited',
  expiration_time: toSeconds(expiresAt),
  ...(secret === null ? {} : { invitation_secret: secret }),
});

export const presentJoinedTeam = ({ member, team }: AcceptedInvitation, apiKey: string | null = null): JoinedTeam => ({
  id: member.userId,
  team_id: team.teamId,
  team_name: team.name,
  member_email: member.email,
  member_role: member.role,
  ...(apiKey === null ? {} : { api_key: apiKey }),
});

export const presentApiKey = (record: ApiKeyRecord, apiKey: string | null = null): ApiKeyEntry => ({
  id: record.apiKeyId,
  customer_id: record.userId,
  name: record.name,
  creation_time: toSeconds(record.createdAt),
  ...(record.revokedAt === undefined ? {} : { revocation_time: toSeconds(record.revokedAt) }),
  ...(apiKey === null ? {} : { api_key: apiKey }),
});

/**
 * Presents an audit log entry with the first of its accounts that the reader can see. `visibleAccountIds` are the accounts of the
 * reader, or null for all accounts.
 */
export const presentAuditEntry = (entry: AuditEntry, visibleAccountIds: readonly string[] | null): AuditLogEntry => ({
  id: entry.auditId,
  customer_id: entry.accountIds.find((accountId) => visibleAccountIds === null || visibleAccountIds.includes(accountId)) ?? '',
  actor: entry.actor,
  action: entry.action,
  subject: entry.subject,
  details: { ...entry.details },
  address: entry.address,
  ...(entry.request
    ? {
        request: {
          operation: entry.request.operation,
          credential: entry.request.credential,
          user_agent: entry.request.userAgent,
          queue_id: entry.request.instanceId,
          outcome: entry.request.outcome,
        },
      }
    : {}),
  creation_time: toSeconds(entry.at),
});
