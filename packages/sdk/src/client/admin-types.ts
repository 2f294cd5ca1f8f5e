/** What the management API answers, as it answers it. Times are Unix seconds. */

export type AccountRole = 'owner' | 'admin' | 'dev' | 'finance';
/** What a member is made; owners are whoever created the team. */
export type MemberRole = Exclude<AccountRole, 'owner'>;

export interface Account {
  /** Of the user, and of the personal account. */
  readonly id: string;
  readonly customer_id: string;
  readonly email: string;
  readonly creation_time: number;
  /** Those that the user may see, the personal one first. */
  readonly accounts: readonly { readonly id: string; readonly role: AccountRole }[];
}

export interface ApiKey {
  readonly id: string;
  readonly customer_id: string;
  readonly name: string;
  readonly creation_time: number;
  /** Absent: the key is good. */
  readonly revocation_time?: number;
  /** The key itself, only in the answer that made it. */
  readonly api_key?: string;
}

/** Leads to one API key, at the log-in page: `<dashboard>/login#<recovery_secret>`. */
export interface RecoveryLink {
  readonly recovery_secret: string;
  /** Unix seconds. */
  readonly expiration_time: number;
}

export interface Team {
  readonly id: string;
  /** The same as `id`, and `customer_id` too. */
  readonly team_id: string;
  readonly customer_id: string;
  readonly name: string;
  /** The same as `name`. */
  readonly team_name: string;
  readonly creation_time: number;
  /** Of the caller in the team. */
  readonly role: AccountRole;
}

export interface TeamMember {
  /** Of the user; of the invitation while the status is `invited`. */
  readonly id: string;
  readonly team_id: string;
  readonly customer_id: string;
  readonly member_email: string;
  readonly member_role: AccountRole;
  readonly creation_time: number;
  /** `invited`: pending until the invited person accepts. */
  readonly status: 'member' | 'invited';
  /** Unix seconds. When a pending invitation expires. */
  readonly expiration_time?: number;
  /** For the invited person. Only in the answer that creates the invitation. */
  readonly invitation_secret?: string;
}

/** A user of the installation. */
export interface User {
  readonly id: string;
  readonly email: string;
  /** Unix seconds. */
  readonly creation_time: number;
  readonly is_operator: boolean;
  /** Unix seconds. Absent: the user may log in. */
  readonly disabled_time?: number;
}

export interface UserPage {
  /** Of the next page; empty at the end. */
  readonly cursor: string;
  readonly users: readonly User[];
}

/** What accepting an invitation leads to. */
export interface JoinedTeam {
  /** Of the user. */
  readonly id: string;
  readonly team_id: string;
  readonly team_name: string;
  readonly member_email: string;
  readonly member_role: AccountRole;
  /** The first API key of a user who was created by accepting. It is shown this once. */
  readonly api_key?: string;
}

/** A named set of limits. Null: no limit of the plan. */
export interface QueuePlan {
  readonly name: string;
  readonly max_message_bytes: number | null;
  readonly log_retention_ms: number | null;
  readonly dead_letter_retention_ms: number | null;
  readonly max_parallelism: number | null;
  readonly max_schedules: number | null;
  readonly max_requests_per_day: number | null;
  readonly api_calls_per_second: number | null;
  readonly max_timeout_ms: number | null;
  readonly max_queues: number | null;
  readonly max_url_groups: number | null;
  readonly max_flow_control_keys: number | null;
  /** This and what follows are of the whole account; the largest one of its queue instances counts. */
  readonly max_stored_bytes: number | null;
  readonly max_active_runs: number | null;
  readonly max_instances: number | null;
  readonly max_search_indexes: number | null;
  readonly max_teams: number | null;
  readonly max_team_members: number | null;
  /** Dollars. */
  readonly price_per_100k_messages: number;
}

export interface QueueInstance {
  readonly id: string;
  /** The account that owns it: of a user or of a team. */
  readonly customer_id: string;
  readonly name: string;
  readonly region: string;
  readonly creation_time: number;
  /** Of the caller in the account that owns it. */
  readonly role: AccountRole;
  /** It was deleted, and its data is being removed. Absent: it is in use. */
  readonly state?: 'deleting';
  readonly plan: string;
  readonly limits: QueuePlan;
  /** Runs that were started today (UTC), which `max_requests_per_day` bounds. */
  readonly requests_today: number;
  /** Dollars a calendar month (UTC); 0: no limit. */
  readonly budget: number;
  readonly budget_alert_url?: string;
  /** Reads and writes. Absent for those who may not use the instance. */
  readonly token?: string;
  readonly read_only_token?: string;
}

export type TokenScope = 'trigger' | 'notify' | 'read-metadata' | 'read' | 'write' | 'connect';

/** Times are Unix seconds. */
export interface QueueToken {
  readonly id: string;
  readonly queue_id: string;
  readonly name: string;
  readonly scopes: readonly TokenScope[];
  /** One of the tokens that the queue instance was created with. */
  readonly is_permanent: boolean;
  readonly creation_time: number;
  /** E-mail of the user. */
  readonly created_by?: string;
  readonly expiration_time?: number;
  readonly revocation_time?: number;
  /** Up to ten minutes late. */
  readonly last_use_time?: number;
  /** The token itself, once: where it was just created. */
  readonly token?: string;
}

export interface QueueStats {
  readonly id: string;
  readonly customer_id: string;
  /** Newest first. */
  readonly months: readonly {
    /** UTC, such as `2026-11`. */
    readonly month: string;
    readonly messages: number;
    readonly dollars: number;
  }[];
  /** Dollars a month; 0: no limit. */
  readonly budget: number;
  /** Dollars in this month. */
  readonly spent: number;
  /** Null: no limit. */
  readonly storage: {
    /** Bytes that this queue instance stores. */
    readonly instance_bytes: number;
    /** Bytes that all queue instances and search indexes of its account store. */
    readonly account_bytes: number;
    readonly max_bytes: number | null;
    /** Active runs and messages of the account. */
    readonly active_runs: number;
    readonly max_active_runs: number | null;
  };
  /** What is refused now, in words; empty when nothing is. */
  readonly refused: readonly string[];
  /** Runs that were started today (UTC), which `max_requests_per_day` bounds. */
  readonly requests_today: number;
  /** What was refused on the days (UTC) that the period touches, by kind; the last first. */
  readonly refusals: readonly {
    /** The error code; `tick-...`: a tick of a schedule started no run; `step-...`: a run failed by a step. */
    readonly kind: string;
    readonly count: number;
    /** Unix seconds. */
    readonly last_time: number;
  }[];
}

export interface QueueUsage {
  readonly id: string;
  readonly customer_id: string;
  /** Oldest first, today last. */
  readonly days: readonly {
    /** UTC, such as `2026-11-21`. */
    readonly day: string;
    readonly messages: number;
    readonly dollars: number;
  }[];
  /** Dollars a calendar month (UTC); 0: no limit. */
  readonly budget: number;
  /** Dollars. */
  readonly spent_this_month: number;
}

export interface AuditLogEntry {
  readonly id: string;
  readonly customer_id: string;
  /** E-mail of the user. */
  readonly actor: string;
  /** Such as `queue.move-to-team`. */
  readonly action: string;
  /** Id of what was changed. */
  readonly subject: string;
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
  /** Where the request came from. */
  readonly address: string;
  /** Absent for what no request led to, and in entries of earlier versions. */
  readonly request?: AuditedRequest;
  readonly creation_time: number;
}

/** The request that led to an entry of the audit log. */
export interface AuditedRequest {
  /** `operationId` of the API, or the name of a command of the control socket. */
  readonly operation: string;
  /** Such as `api-key key_1`, `session ses_1`, `token tok_1 (name)` or `none`. */
  readonly credential: string;
  readonly user_agent: string;
  /** The queue instance that the request was about. */
  readonly queue_id: string | null;
  readonly outcome: 'done' | 'refused';
}

/** An entry of the audit log as it is exported. */
export interface AuditExportLine {
  readonly seq: number;
  /** SHA-256, hex, over the entry and the hash of the one before. */
  readonly hash: string;
  readonly id: string;
  /** Unix ms. */
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly address: string;
  readonly account_ids: readonly string[];
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
  readonly request: AuditedRequest | null;
}

/** What a check of the audit log against its hash chain has found. */
export interface AuditVerification {
  readonly checked: number;
  readonly faults: readonly {
    readonly seq: number;
    /** Null: the entry is gone. */
    readonly id: string | null;
    readonly kind: 'changed' | 'removed' | 'inserted';
  }[];
  readonly next: number | null;
  /** The last entry that was removed after its retention. */
  readonly anchor: { readonly seq: number; readonly hash: string };
  /** The last entry of the chain. */
  readonly head: { readonly seq: number; readonly hash: string };
  /** Whether the chain has the entry given as `known`; `expired`: it is older than the retention. */
  readonly known?: 'found' | 'missing' | 'expired';
}

export interface AuditLogPage {
  /** Of the next page; empty at the end. */
  readonly cursor: string;
  readonly auditlogs: readonly AuditLogEntry[];
}

export type SearchIndexType = 'free' | 'payg' | 'fixed';

export interface SearchIndex {
  readonly id: string;
  /** The account that owns it: of a user or of a team. */
  readonly customer_id: string;
  readonly name: string;
  readonly region: string;
  readonly type: string;
  /** URL of the API of the index. */
  readonly endpoint: string;
  readonly creation_time: number;
  /** What the user may do with its documents. */
  readonly access: 'read-write' | 'read-only';
  /** Reads and writes. Only in the answer that creates the token: it is not shown again. */
  readonly token?: string;
  readonly read_only_token?: string;
}

export interface SearchIndexStats {
  readonly id: string;
  readonly customer_id: string;
  readonly name: string;
  readonly document_count: number;
  readonly namespace_count: number;
  /** Bytes. */
  readonly disk_size: number;
}

export interface SearchStats {
  readonly index_count: number;
  readonly document_count: number;
  /** Bytes. */
  readonly disk_size: number;
  readonly indexes: readonly SearchIndexStats[];
}

/** A session of the user: a login in a browser. */
export interface UserSession {
  readonly id: string;
  /** Of the API key with which it began. It ends when that is revoked. Absent: it began with the identity provider. */
  readonly api_key_id?: string;
  /** Unix seconds. */
  readonly creation_time: number;
  /** Unix seconds; when it ends unless it is used before. */
  readonly expires_at: number;
  /** Whether the request was made with it. */
  readonly current: boolean;
}

/** What a queue instance may call, beside the rules of the installation. Entries are such as `*.example.com:443` or `10.0.0.0/8`. */
export interface QueueOutboundRules {
  readonly id: string;
  /** Private destinations that the operator allows. */
  readonly allow: readonly string[];
  /** Destinations that are not called. */
  readonly deny: readonly string[];
  /** The only destinations that are called; null: no such bound. */
  readonly only: readonly string[] | null;
}
