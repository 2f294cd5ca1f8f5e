/** Audit rules of operations. The audit log entries of a request are derived from the rule. Keeps invariant 46. */
import type { OperationInput } from '../handled-request.js';

interface AuditedAction {
  /** Name in the audit log, for example `run.cancel`. */
  readonly action: string;
  /** Name of the parameter or field with the id of the object, in the path, the query, the body or the response. */
  readonly subject?: string;
}

export interface ChangeRule extends AuditedAction {
  readonly kind: 'change';
  /** One entry for all objects, with the filters and the counts. It is written at the end, when the counts are known. */
  readonly isBulk?: true;
  /** Recorded only for users, not for tokens, because apps make too many changes to record. */
  readonly isOnlyForUsers?: true;
  /** Returns whether to record the request. If absent, every request is recorded. */
  readonly shouldRecord?: (input: OperationInput) => boolean;
}

export interface SecretReadRule extends AuditedAction {
  readonly kind: 'secret-read';
  /**
   * Field that contains the secret. A response without the field is not recorded. If absent, every response contains a
   * secret.
   */
  readonly field?: string;
}

export type AuditRule =
  | ChangeRule
  | SecretReadRule
  /** A change whose entry is written by the code behind the operation, in the transaction of the change. */
  | { readonly kind: 'own-entry' }
  /** Not audited, although the method is not GET. */
  | { readonly kind: 'none'; readonly reason: string };

/** Declares a change of one object. */
export const change = (
  action: string,
  subject?: string,
  options: Pick<ChangeRule, 'shouldRecord' | 'isOnlyForUsers'> = {},
): ChangeRule => ({
  kind: 'change',
  action,
  ...(subject === undefined ? {} : { subject }),
  ...options,
});
/** Declares a change of all objects that match a filter. */
export const bulkChange = (action: string): ChangeRule => ({ kind: 'change', action, isBulk: true });
/** Declares that a response contains secrets, in each of its objects with the field. */
export const secretRead = (action: string, options: Omit<SecretReadRule, 'kind' | 'action'> = {}): SecretReadRule => ({
  kind: 'secret-read',
  action,
  ...options,
});
export const WRITES_OWN_ENTRY: AuditRule = Object.freeze({ kind: 'own-entry' });
export const notAudited = (reason: string): AuditRule => ({ kind: 'none', reason });

/** Runs, messages and events are records themselves, with their caller, and are too numerous for a second record. */
export const RECORDED_BY_RUN = notAudited('the run or the message that it creates is the record, with the address of the caller');
export const RECORDED_BY_STEP = notAudited('an endpoint submits steps of its own run, which records them');
export const RECORDED_BY_EVENT = notAudited('the run that receives the event records it');
export const READ_ONLY = notAudited('it only reads; it is a POST because of its body');
