/** Writes audit log entries of requests according to the audit rules of their operations. Keeps invariant 46. */
import type { Principal } from '../../accounts/account-service.js';
import { networkOf } from '../../accounts/users/client-network.js';
import type { AuditRecords, NewEntry } from '../../audit/audit-records.js';
import { AuditedRequest, runAudited } from '../../audit/audited-request.js';
import { NO_CREDENTIAL } from '../../audit/refused-requests.js';
import type { ApiError, ErrorCode } from '../../contract/error-codes.js';
import type { AuditNote, AuditRequest } from '../../engine/writes.js';
import type { AdmittedCaller, OperationInput, OperationResponse } from '../handled-request.js';
import { inputDetails, responseCounts, subjectIn } from './audit-details.js';
import type { AuditRule } from './audit-rule.js';

const MAX_USER_AGENT_LENGTH = 200;
/** Error codes that are counted for all operations. For audited operations all errors are counted. */
const COUNTED_ERRORS: readonly ErrorCode[] = ['bad-token', 'bad-credential', 'forbidden', 'read-only-token', 'csrf-refused'];

/** Caller of a request, as stored in the audit log. */
interface Identity {
  readonly actor: string;
  readonly credential: string;
  readonly userId: string | null;
  readonly instanceId: string | null;
  /** Accounts that can read the entry, as far as the request determines them. */
  readonly accountIds: readonly string[];
}

const ANONYMOUS: Identity = { actor: 'anonymous', credential: NO_CREDENTIAL, userId: null, instanceId: null, accountIds: [] };

function identityOfUser({ user: { email, userId }, sessionId, apiKeyId = '' }: Principal): Identity {
  const credential = sessionId === undefined ? `api-key ${apiKeyId}` : `session ${sessionId}`;
  return { actor: email, credential, userId, instanceId: null, accountIds: [userId] };
}

/** Returns the identity of the caller. `admitted` is undefined if the request was rejected before admission. */
function identityOf(admitted: AdmittedCaller | undefined): Identity {
  switch (admitted?.access) {
    case 'token': {
      const { actor, instanceId, user } = admitted.caller;
      const credential = user ? `session ${user.sessionId}` : actor;
      return { actor, credential, userId: user?.userId ?? null, instanceId, accountIds: [] };
    }
    case 'account':
      return identityOfUser(admitted.principal);
    case 'session':
      return identityOfUser(admitted.session.principal);
    case 'index': {
      const { indexId, principal, accountId } = admitted.caller;
      if (principal) return { ...identityOfUser(principal), accountIds: [accountId] };
      return { ...ANONYMOUS, actor: `token of ${indexId}`, credential: `token of ${indexId}` };
    }
    default:
      return ANONYMOUS;
  }
}

/** Returns whether the rule applies to this request. */
function appliesTo(rule: AuditRule | undefined, input: OperationInput, admitted: AdmittedCaller): boolean {
  if (rule?.kind !== 'change') return rule?.kind === 'secret-read' || rule?.kind === 'own-entry';
  if (rule.isOnlyForUsers && !(admitted.access === 'index' && admitted.caller.principal)) return false;
  return rule.shouldRecord?.(input) ?? true;
}

/** The part of an operation that its audit entries depend on. */
interface AuditedOperation {
  readonly operationId: string;
  readonly audit?: AuditRule;
}

export interface RecordedRequest {
  readonly operation: AuditedOperation;
  readonly admitted: AdmittedCaller;
  readonly input: OperationInput;
}

export class AuditRecorder {
  private readonly records: AuditRecords;

  constructor(records: AuditRecords) {
    this.records = records;
  }

  /**
   * Runs the operation and records it. The entry is part of the first unit of writes of the operation. If there is none, the
   * entry is written before the returned promise resolves. Rejects if the entry cannot be written, although the change may
   * have been made.
   */
  async run(
    recordedRequest: RecordedRequest,
    perform: () => Promise<OperationResponse> | OperationResponse,
  ): Promise<OperationResponse> {
    const { operation, admitted, input } = recordedRequest;
    const { audit: rule } = operation;
    await this.recordLogin(recordedRequest);
    if (!rule || !appliesTo(rule, input, admitted)) return perform();
    const entry = rule.kind === 'change' ? await this.changeEntry(recordedRequest) : null;
    const isBulk = rule.kind === 'change' && rule.isBulk === true;
    const request = new AuditedRequest({ entry, request: this.requestOf(recordedRequest), isWrittenWithChange: !isBulk });
    const response = await runAudited(request, perform);
    const unwrittenEntry = request.close();
    if (unwrittenEntry) await this.records.write(this.withResponse(unwrittenEntry, rule, response));
    if (rule.kind === 'secret-read') await this.recordSecretRead(recordedRequest, response);
    return response;
  }

  /** Counts a rejected request, if its error is counted. */
  countRefusal(operation: AuditedOperation, admitted: AdmittedCaller | undefined, { code }: ApiError, address: string): void {
    const rule = operation.audit;
    const isAudited = rule !== undefined && rule.kind !== 'none' && admitted !== undefined && admitted.access !== 'open';
    if (!isAudited && !COUNTED_ERRORS.includes(code)) return;
    const { actor, credential, instanceId, userId } = identityOf(admitted);
    const network = networkOf(address);
    this.records.countRefusal({ operation: operation.operationId, code, actor, credential, instanceId, userId, network });
  }

  private requestOf({ operation: { operationId }, admitted, input }: RecordedRequest): AuditRequest {
    const { credential, instanceId } = identityOf(admitted);
    const userAgent = String(input.request.headers['user-agent'] ?? '').slice(0, MAX_USER_AGENT_LENGTH);
    return { operation: operationId, credential, userAgent, instanceId, outcome: 'done' };
  }

  /** Returns the fields that all entries of a request share. */
  private async commonFields(
    recordedRequest: RecordedRequest,
  ): Promise<Pick<NewEntry, 'actor' | 'address' | 'accountIds' | 'request'>> {
    const { actor, instanceId, accountIds } = identityOf(recordedRequest.admitted);
    const ownerIds = instanceId === null ? accountIds : await this.records.ownersOf(instanceId);
    return {
      actor,
      address: recordedRequest.input.request.callerIp,
      accountIds: ownerIds,
      request: this.requestOf(recordedRequest),
    };
  }

  private async changeEntry(recordedRequest: RecordedRequest): Promise<AuditNote | null> {
    const { audit: rule } = recordedRequest.operation;
    if (rule?.kind !== 'change') return null;
    const subject = rule.subject === undefined ? defaultSubject(recordedRequest) : subjectIn(recordedRequest.input, rule.subject);
    const details = inputDetails(recordedRequest.input, rule);
    return this.records.entry({ ...(await this.commonFields(recordedRequest)), action: rule.action, subject, details });
  }

  private withResponse(entry: AuditNote, rule: AuditRule, { body }: OperationResponse): AuditNote {
    if (rule.kind !== 'change') return entry;
    const details = rule.isBulk ? { ...entry.details, ...responseCounts(body) } : entry.details;
    const subject = rule.subject === undefined || entry.subject !== '' ? entry.subject : subjectIn({ body }, rule.subject);
    return { ...entry, subject, details };
  }

  private async recordSecretRead(recordedRequest: RecordedRequest, { body }: OperationResponse): Promise<void> {
    const { operation, input } = recordedRequest;
    const { audit: rule } = operation;
    if (rule?.kind !== 'secret-read') return;
    const secretObjects = rule.field === undefined ? [] : objectsWith(body, rule.field);
    if (rule.field !== undefined && secretObjects.length === 0) return;
    const commonFields = await this.commonFields(recordedRequest);
    const subject = rule.subject === undefined ? defaultSubject(recordedRequest) : subjectIn(input, rule.subject);
    const ownerIds = secretObjects.flatMap(({ customer_id: ownerId }) => (typeof ownerId === 'string' ? [ownerId] : []));
    await this.records.recordSecretRead(
      {
        ...commonFields,
        action: rule.action,
        subject,
        details: rule.field === undefined ? {} : { count: secretObjects.length },
        accountIds: [...new Set([...commonFields.accountIds, ...ownerIds])],
      },
      networkOf(commonFields.address),
    );
  }

  /** Records the login of a request with HTTP Basic. */
  private async recordLogin(recordedRequest: RecordedRequest): Promise<void> {
    const { admitted } = recordedRequest;
    const principal =
      admitted.access === 'account' ? admitted.principal : admitted.access === 'index' ? admitted.caller.principal : undefined;
    if (!principal || principal.sessionId !== undefined) return;
    const { userId } = principal.user;
    const commonFields = await this.commonFields(recordedRequest);
    const entry = { ...commonFields, action: 'login.basic', subject: userId, details: {}, accountIds: [userId] };
    await this.records.recordLogin(entry, networkOf(commonFields.address));
  }
}

const defaultSubject = ({ admitted }: RecordedRequest): string => {
  const { instanceId, userId } = identityOf(admitted);
  return instanceId ?? userId ?? '';
};

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** Returns the response itself, or its elements, that have the field. */
const objectsWith = (body: unknown, field: string): readonly Fields[] =>
  [body].flat().filter((element): element is Fields => isObject(element) && element[field] !== undefined);
