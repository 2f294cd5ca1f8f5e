/** Responses of the management API, as sent by the service. Times are Unix seconds. */

/** Role of a user in an account. */
export type AccountRole = 'owner' | 'admin' | 'dev' | 'finance';
/** Role that a member can be given. The owner is the user who created the team. */
export type MemberRole = Exclude<AccountRole, 'owner'>;

/** The logged-in user. */
export interface Account {
  /** Id of the user and of the personal account. */
  readonly id: string;
  readonly customer_id: string;
  readonly email: string;
  readonly creation_time: number;
  /** Accounts that the user may see, the personal one first. */
  readonly accounts: readonly { readonly id: string; readonly role: AccountRole }[];
}

/** An API key of a user. */
export interface ApiKey {
  readonly id: string;
  readonly customer_id: string;
  readonly name: string;
  readonly creation_time: number;
  /** Absent: the key is valid. */
  readonly revocation_time?: number;
  /** The key itself. Present only in the response that creates it. */
  readonly api_key?: string;
}

/** A link to one API key, at the login page: `<dashboard>/login#<recovery_secret>`. */
export interface RecoveryLink {
  readonly recovery_secret: string;
  /** Unix seconds. */
  readonly expiration_time: number;
}

/** A team, as one of its members sees it. */
export interface Team {
  readonly id: string;
  /** Same as `id` and `customer_id`. */
  readonly team_id: string;
  readonly customer_id: string;
  readonly name: string;
  /** Same as `name`. */
  readonly team_name: string;
  readonly creation_time: number;
  /** Role of the caller in the team. */
  readonly role: AccountRole;
}

/** A member of a team, or a pending invitation. */
export interface TeamMember {
  /** Id of the user, or of the invitation while the status is `invited`. */
  readonly id: string;
  readonly team_id: string;
  readonly customer_id: string;
  readonly member_email: string;
  readonly member_role: AccountRole;
  readonly creation_time: number;
  /** `invited`: pending until the invited person accepts. */
  readonly status: 'member' | 'invited';
  /** Time at which a pending invitation expires, Unix seconds. */
  readonly expiration_time?: number;
  /** Secret for the invited person. Present only in the response that creates the invitation. */
  readonly invitation_secret?: string;
}

/** A user of the installation. */
export interface User {
  readonly id: string;
  readonly email: string;
  /** Unix seconds. */
  readonly creation_time: number;
  readonly is_operator: boolean;
  /** Time at which the user was disabled, Unix seconds. Absent: the user can log in. */
  readonly disabled_time?: number;
}

/** One page of users. */
export interface UserPage {
  /** Cursor of the next page; empty at the end. */
  readonly cursor: string;
  readonly users: readonly User[];
}

/** Result of accepting an invitation. */
export interface JoinedTeam {
  /** Id of the user. */
  readonly id: string;
  readonly team_id: string;
  readonly team_name: string;
  readonly member_email: string;
  readonly member_role: AccountRole;
  /** The first API key of a user that accepting created. It is shown only once. */
  readonly api_key?: string;
}

/** A named set of limits. Null: the plan has no such limit. */
export interface InstancePlan {
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
  /**
   * This limit and the following ones apply to the whole account. If its queue instances have different plans, the
   * largest limit counts.
   */
  readonly max_stored_bytes: number | null;
  readonly max_active_runs: number | null;
  readonly max_instances: number | null;
  readonly max_search_indexes: number | null;
  readonly max_teams: number | null;
  readonly max_team_members: number | null;
  /** Dollars. */
  readonly price_per_100k_messages: number;
}

/** A queue instance. */
export interface QueueInstance {
  readonly id: string;
  /** Account that owns the instance: of a user or of a team. */
  readonly customer_id: string;
  readonly name: string;
  readonly region: string;
  readonly creation_time: number;
  /** Role of the caller in the account that owns the instance. */
  readonly role: AccountRole;
  /** `deleting`: the instance was deleted and its data is being removed. Absent: it is in use. */
  readonly state?: 'deleting';
  readonly plan: string;
  readonly limits: InstancePlan;
  /** Number of runs started today (UTC). `max_requests_per_day` limits it. */
  readonly requests_today: number;
  /** Dollars per calendar month (UTC); 0: no limit. */
  readonly budget: number;
  readonly budget_alert_url?: string;
  /** Read-write token. Absent if the caller may not use the instance. */
  readonly token?: string;
  readonly read_only_token?: string;
}

/** What a token may do. `read-metadata` is `read` without payloads, results and headers; `write` includes all others. */
export type TokenScope = 'trigger' | 'notify' | 'read-metadata' | 'read' | 'write' | 'connect';

/** A token of a queue instance. Times are Unix seconds. */
export interface InstanceToken {
  readonly id: string;
  readonly queue_id: string;
  readonly name: string;
  readonly scopes: readonly TokenScope[];
  /** True for a token that the queue instance was created with. */
  readonly is_permanent: boolean;
  readonly creation_time: number;
  /** E-mail of the user who created the token. */
  readonly created_by?: string;
  readonly expiration_time?: number;
  readonly revocation_time?: number;
  /** Time of the last use, up to ten minutes late. */
  readonly last_use_time?: number;
  /** The token itself. Present only in the response that creates it. */
  readonly token?: string;
}

/** Usage, limits and rejected requests of a queue instance. */
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
  /** Dollars per month; 0: no limit. */
  readonly budget: number;
  /** Dollars spent this month. */
  readonly spent: number;
  /** Storage of the instance and its account. A limit of null: no limit. */
  readonly storage: {
    /** Bytes that this queue instance stores. */
    readonly instance_bytes: number;
    /** Bytes that all queue instances and search indexes of its account store. */
    readonly account_bytes: number;
    readonly max_bytes: number | null;
    /** Number of active runs and messages of the account. */
    readonly active_runs: number;
    readonly max_active_runs: number | null;
  };
  /** Explanations of what is currently rejected; empty if nothing is. */
  readonly refused: readonly string[];
  /** Number of runs started today (UTC). `max_requests_per_day` limits it. */
  readonly requests_today: number;
  /** Rejected requests on the days (UTC) of the period, by kind; the latest first. */
  readonly refusals: readonly {
    /** Error code; `tick-...`: a tick of a schedule started no run; `step-...`: a step failed its run. */
    readonly kind: string;
    readonly count: number;
    /** Unix seconds. */
    readonly last_time: number;
  }[];
}

/** Usage of a queue instance per day. */
export interface InstanceUsage {
  readonly id: string;
  readonly customer_id: string;
  /** Oldest first, today last. */
  readonly days: readonly {
    /** UTC, such as `2026-11-21`. */
    readonly day: string;
    readonly messages: number;
    readonly dollars: number;
  }[];
  /** Dollars per calendar month (UTC); 0: no limit. */
  readonly budget: number;
  /** Dollars. */
  readonly spent_this_month: number;
}

/** An entry of the audit log of an account. */
export interface AuditLogEntry {
  readonly id: string;
  readonly customer_id: string;
  /** E-mail of the user. */
  readonly actor: string;
  /** Such as `queue.move-to-team`. */
  readonly action: string;
  /** Id of the changed object. */
  readonly subject: string;
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
  /** Network address of the client. */
  readonly address: string;
  /** Absent if no request caused the entry, and in entries of earlier versions. */
  readonly request?: AuditedRequest;
  readonly creation_time: number;
}

/** The request that caused an entry of the audit log. */
export interface AuditedRequest {
  /** `operationId` of the API, or the name of a command of the control socket. */
  readonly operation: string;
  /** Such as `api-key key_1`, `session ses_1`, `token tok_1 (name)` or `none`. */
  readonly credential: string;
  readonly user_agent: string;
  /** Id of the queue instance that the request concerns. */
  readonly queue_id: string | null;
  readonly outcome: 'done' | 'refused';
}

/** An exported entry of the audit log. */
export interface AuditExportLine {
  readonly seq: number;
  /** SHA-256 in hex, over the entry and the hash of the previous one. */
  readonly hash: string;
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly address: string;
  readonly account_ids: readonly string[];
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
  readonly request: AuditedRequest | null;
}

/** Result of verifying the audit log against its hash chain. */
export interface AuditVerification {
  readonly checked: number;
  readonly faults: readonly {
    readonly seq: number;
    /** Null: the entry no longer exists. */
    readonly id: string | null;
    readonly kind: 'changed' | 'removed' | 'inserted';
  }[];
  readonly next: number | null;
  /** The last entry that was removed after its retention period. */
  readonly anchor: { readonly seq: number; readonly hash: string };
  /** The last entry of the chain. */
  readonly head: { readonly seq: number; readonly hash: string };
  /** Whether the chain contains the entry passed as `known`. `expired`: it is older than the retention period. */
  readonly known?: 'found' | 'missing' | 'expired';
}

/** One page of the audit log. */
export interface AuditLogPage {
  /** Cursor of the next page; empty at the end. */
  readonly cursor: string;
  readonly auditlogs: readonly AuditLogEntry[];
}

/** Billing type of a search index. All types behave the same. */
export type SearchIndexType = 'free' | 'payg' | 'fixed';

/** A search index. */
export interface SearchIndex {
  readonly id: string;
  /** Account that owns the index: of a user or of a team. */
  readonly customer_id: string;
  readonly name: string;
  readonly region: string;
  readonly type: string;
  /** URL of the API of the index. */
  readonly endpoint: string;
  readonly creation_time: number;
  /** Access of the user to its documents. */
  readonly access: 'read-write' | 'read-only';
  /** Read-write token. Present only in the response that creates it; it is not shown again. */
  readonly token?: string;
  readonly read_only_token?: string;
}

/** Size of one search index. */
export interface SearchIndexStats {
  readonly id: string;
  readonly customer_id: string;
  readonly name: string;
  readonly document_count: number;
  readonly namespace_count: number;
  /** Bytes. */
  readonly disk_size: number;
}

/** Size of all search indexes, and of each one. */
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
  /**
   * Id of the API key that started the session. The session ends when the key is revoked. Absent: the session was
   * started with the identity provider.
   */
  readonly api_key_id?: string;
  /** Unix seconds. */
  readonly creation_time: number;
  /** Time at which the session ends if it is not used before, Unix seconds. */
  readonly expires_at: number;
  /** True for the session that made this request. */
  readonly current: boolean;
}

/**
 * Destinations that a queue instance may call, in addition to the rules of the installation. Entries look like
 * `*.example.com:443` or `10.0.0.0/8`.
 */
export interface InstanceOutboundRules {
  readonly id: string;
  /** Private destinations that the operator allows. */
  readonly allow: readonly string[];
  /** Destinations that are not called. */
  readonly deny: readonly string[];
  /** The only destinations that are called; null: no such restriction. */
  readonly only: readonly string[] | null;
}
