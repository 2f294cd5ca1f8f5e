/** Types that all account stores share. */
import type { AuditNote } from '../../../engine/writes.js';

/** Id of an account: the user id of a personal account, or the team id of a team. */
export type AccountId = string;

/** An entry of the audit log. */
export type AuditEntry = AuditNote;
