/** Changes a dead letter group at the request of a user, with an entry in the audit log. */
import type { Caller } from '../../../accounts/tokens/caller.js';
import { LIMITS } from '../../../config/limits.js';
import type { DeadLetterGroup } from '../../../contract/dead-letter-groups.js';
import { ApiError } from '../../../contract/error-codes.js';
import type { GroupMark } from '../../../engine/dead-letters/group-triage.js';
import type { AuditEntry } from '../../../ports/stores/account-store.js';
import type { ApiContext, RequestContext } from '../../operation.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { presentGroup } from '../../presenters/dead-letter-group.js';

export const groupNotFound = (fingerprint: string): ApiError =>
  new ApiError('not-found', `group ${quoteValue(fingerprint)} not found: it had no entries in the last month`);

/** A change of a group, without its time and its author. */
type Change<Mark = GroupMark> = Mark extends GroupMark ? Omit<Mark, 'at' | 'by'> : never;

export interface MarkRequest {
  readonly fingerprint: string;
  readonly change: Change;
  /** Details for the audit log. They never contain the text of a note. */
  readonly details?: AuditEntry['details'];
  readonly request: RequestContext;
}

/** Returns the changed group. Throws an ApiError if there is no such group or note, or if it has too many notes. */
export async function markGroup(
  { fingerprint, change, details = {}, request }: MarkRequest,
  { reads, service, authority }: ApiContext,
  { instanceId, actor, access }: Caller,
): Promise<DeadLetterGroup> {
  const now = service.now();
  const audit = await authority.auditEntry(instanceId, {
    actor,
    address: request.callerIp,
    action: `dead-letter-group.${change.kind}`,
    subject: fingerprint,
    details: { ...details, instanceId, access },
  });
  const outcome = await service.deadLetters.markGroup({
    instanceId,
    fingerprint,
    mark: { ...change, at: now, by: actor },
    audit,
  });
  if (outcome === 'too-many-notes')
    throw new ApiError('conflict', `a group has at most ${LIMITS.maxGroupNotes} notes; delete one first`);
  if (outcome === 'no-such-note') throw new ApiError('not-found', 'the group has no note with this id');
  const group = outcome === 'done' ? await reads.deadLetterGroups.find({ instanceId, fingerprint, now }) : null;
  if (!group) throw groupNotFound(fingerprint);
  return presentGroup(group, now, 'all');
}
