/** What an operation declares about the audit log. Everything that is recorded of a request follows from it. */
import type { OperationInput } from '../operation.js';

interface Named {
  /** As the log names it, such as `run.cancel`. */
  readonly action: string;
  /** Name of the parameter or field that has the ID of the object: of the path, the query, the body or else the answer. */
  readonly subject?: string;
}

export interface ChangeRule extends Named {
  readonly kind: 'change';
  /** One entry for all objects, with the filters and the counts. It is written at the end, when the counts are known. */
  readonly bulk?: true;
  /** Only if a user asks, not the holder of a token: what apps do is too much to record. */
  readonly onlyUsers?: true;
  /** Absent: always. */
  readonly when?: (input: OperationInput) => boolean;
}

export interface SecretReadRule extends Named {
  readonly kind: 'secret-read';
  /** The field that has the secret; an answer without it is not recorded. Absent: every answer has one. */
  readonly field?: string;
}

export type AuditRule =
  | ChangeRule
  | SecretReadRule
  /** A change whose entry is made by the rules behind the operation, in the transaction of the change. */
  | { readonly kind: 'own-entry' }
  /** Not audited, though it is not a GET. */
  | { readonly kind: 'none'; readonly reason: string };

/** Declares a change of one object. */
export const change = (action: string, subject?: string, more: Pick<ChangeRule, 'when' | 'onlyUsers'> = {}): ChangeRule => ({
  kind: 'change',
  action,
  ...(subject === undefined ? {} : { subject }),
  ...more,
});
/** Declares a change of all objects that match a filter. */
export const bulkChange = (action: string): ChangeRule => ({ kind: 'change', action, bulk: true });
/** Declares that an answer has a secret, in each of its objects that has the field. */
export const secretRead = (action: string, more: Omit<SecretReadRule, 'kind' | 'action'> = {}): SecretReadRule => ({
  kind: 'secret-read',
  action,
  ...more,
});
export const OWN_ENTRY: AuditRule = Object.freeze({ kind: 'own-entry' });
export const notAudited = (reason: string): AuditRule => ({ kind: 'none', reason });

/** Runs, messages and events are records themselves, with their caller, and there are too many of them for a second record. */
export const IS_ITS_OWN_RECORD = notAudited(
  'the run or the message that it creates is the record, with the address of the caller',
);
export const IS_A_STEP = notAudited('an endpoint submits steps of its own run, which records them');
export const IS_AN_EVENT = notAudited('the run that receives the event records it');
export const ONLY_READS = notAudited('it only reads; POST because of its body');
