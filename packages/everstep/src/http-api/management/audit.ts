/**
 * Operations of the audit log: a listing for members of accounts; the full log, its export and its verification for
 * operators.
 */
import Type from 'typebox';
import type { Principal } from '../../accounts/account-service.js';
import { exportLines, NDJSON_TYPE } from '../../audit/exported-entry.js';
import { verifyLinks } from '../../audit/verification.js';
import { LIMITS } from '../../config/limits.js';
import { AuditExportLine, AuditLogPage, AuditVerification } from '../../contract/audit.js';
import { ApiError } from '../../contract/error-codes.js';
import { type ApiContext, accountOperation, linesOf, type Operation, respond } from '../operation.js';
import { Cursor, UnixMs } from '../parameters/values.js';
import {
  type AuditPageQuery,
  type AuditSearch,
  hasWords,
  MAX_AUDIT_SEARCHED,
  readMatchingEntries,
} from '../read-models/audit-search.js';
import type { Reads } from '../read-models/reads.js';
import { RawBody } from '../requests/raw-body.js';
import { presentAuditEntry } from './presenters.js';

const TAG = 'Audit log';
const FOR_OPERATORS = 'Only for operators.';

const After = Type.Optional(Type.Integer({ minimum: 0, description: 'Only entries after the entry with this sequence number.' }));

async function requireOperator({ accounts }: ApiContext, principal: Principal): Promise<void> {
  if (!(await accounts.isOperator(principal)))
    throw new ApiError(
      'forbidden',
      'only operators of this installation can read the audit log of all accounts; to read the log of your own accounts, use GET /v2/auditlogs without "all"',
    );
}

const listAuditLogs = accountOperation({
  operationId: 'listAuditLogs',
  tag: TAG,
  summary: 'List audit log entries',
  description: 'Returns changes in the accounts of the user, newest first: who changed what, when and from which address.',
  method: 'GET',
  path: '/v2/auditlogs',
  otherPaths: ['/auditlogs'],
  unknownQuery: 'refuse',
  query: Type.Object({
    cursor: Type.Optional(Cursor('Cursor from the previous page.')),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.auditPageMax,
        description: `Maximum number of entries per page. Default: ${LIMITS.auditPageDefault}.`,
      }),
    ),
    q: Type.Optional(
      Type.String({
        maxLength: LIMITS.maxRunQueryLength,
        description: `Only entries that contain every word of this text, ignoring case. One request searches up to ${MAX_AUDIT_SEARCHED} entries, so a page can be short or empty although more pages follow. Continue with the cursor until it is empty.`,
      }),
    ),
    all: Type.Optional(
      Type.Boolean({
        description:
          '`true` returns the entries of all accounts, and entries that belong to no account, such as rejected requests. Only for operators.',
      }),
    ),
  }),
  responses: { 200: AuditLogPage },
  errors: ['bad-parameter', 'bad-cursor', 'forbidden'],
  async handle({ query }, context, principal) {
    const { accounts, reads, cursors, slices } = context;
    const { all = false, count: limit = LIMITS.auditPageDefault, q = '' } = query;
    if (all) await requireOperator(context, principal);
    const words = q
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    const filters = { ...(all ? { all } : {}), ...(words.length > 0 ? { q } : {}) };
    const scope = { operation: 'listAuditLogs', instanceId: principal.user.userId, filters };
    const after = query.cursor ? (await cursors.open(scope, query.cursor)).after : null;
    const visibleAccountIds = all ? null : (await accounts.accountsOf(principal)).map(({ accountId }) => accountId);
    const read = (page: AuditPageQuery) =>
      all ? reads.auditEntries.listAudit({ accountIds: null, ...page }) : accounts.auditLog(principal, page);
    const search: AuditSearch = {
      read,
      matches: (entry) => hasWords(entry, words),
      maxSearched: words.length > 0 ? MAX_AUDIT_SEARCHED : limit,
      runSlice: (work) => slices.run(principal.user.userId, work),
    };
    const { entries, next } = await readMatchingEntries(search, { after, limit });
    return respond(200, {
      cursor: next === null ? '' : await cursors.seal(scope, { after: next, horizon: null, remaining: null }),
      auditlogs: entries.map((entry) => presentAuditEntry(entry, visibleAccountIds)),
    });
  },
});

const exportAuditLog = accountOperation({
  operationId: 'exportAuditLog',
  tag: TAG,
  summary: 'Export the audit log of all accounts',
  description: `${FOR_OPERATORS} Returns NDJSON, oldest entry first, at most ${LIMITS.auditExportMax} lines. To continue, send the sequence number of the last line as \`after\`. An empty response means that there are no more entries. With several nodes, an entry appears about a second after its change.`,
  method: 'GET',
  path: '/v2/audit/export',
  unknownQuery: 'refuse',
  sendsLines: true,
  query: Type.Object({
    from: Type.Optional(UnixMs('Only entries at or after this time, in Unix milliseconds.')),
    to: Type.Optional(UnixMs('Only entries at or before this time, in Unix milliseconds.')),
    after: After,
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.auditExportMax,
        description: `Maximum number of lines. Default: ${LIMITS.auditExportMax}.`,
      }),
    ),
  }),
  responses: { 200: linesOf(AuditExportLine) },
  errors: ['bad-parameter', 'forbidden'],
  async handle({ query }, context, principal) {
    await requireOperator(context, principal);
    const { after = 0, count: limit = LIMITS.auditExportMax, from = null, to = null } = query;
    const entries = await context.reads.audit.chained({ after, limit, from, to });
    return respond(200, new RawBody(NDJSON_TYPE, exportLines(entries)));
  },
});

/** Format of the parameter `known`: the sequence number of an entry, a colon and its hash. */
const KNOWN_HEAD = /^(\d{1,15}):([0-9a-f]{64})$/;

async function checkKnownHead(
  audit: Reads['audit'],
  anchorSeq: number,
  knownHead: string,
): Promise<'found' | 'missing' | 'expired'> {
  const [, seqText = '', hash] = KNOWN_HEAD.exec(knownHead) ?? [];
  const seq = Number(seqText);
  if (seq < anchorSeq) return 'expired';
  return (await hashAt(audit, seq)) === hash ? 'found' : 'missing';
}

/** Returns the hash of the chain at a sequence number, or null when the chain has no hash there. */
async function hashAt(audit: Reads['audit'], seq: number): Promise<string | null> {
  const anchor = await audit.anchor();
  if (seq === anchor.seq) return anchor.hash;
  const [link] = seq === 0 ? [] : await audit.links({ after: seq - 1, limit: 1 });
  return link?.seq === seq ? link.hash : null;
}

const verifyAuditLog = accountOperation({
  operationId: 'verifyAuditLog',
  tag: TAG,
  summary: 'Verify the hash chain of the audit log',
  description: `${FOR_OPERATORS} Checks up to ${LIMITS.auditVerifyMax} entries, starting with the oldest. To check the rest, send \`next\` of the response as \`after\`.`,
  method: 'GET',
  path: '/v2/audit/verify',
  unknownQuery: 'refuse',
  query: Type.Object({
    after: After,
    known: Type.Optional(
      Type.String({
        pattern: KNOWN_HEAD.source,
        maxLength: 80,
        description:
          'Sequence number and hash (`seq:hash`) of an entry that you stored elsewhere. The response reports whether the chain still contains it.',
      }),
    ),
  }),
  responses: { 200: AuditVerification },
  errors: ['bad-parameter', 'forbidden'],
  async handle({ query }, context, principal) {
    await requireOperator(context, principal);
    const { audit } = context.reads;
    const anchor = await audit.anchor();
    // Retention may have removed the entries up to the anchor since the last request.
    const after = Math.max(query.after ?? 0, anchor.seq);
    const previousHash = await hashAt(audit, after);
    if (previousHash === null)
      throw new ApiError(
        'bad-parameter',
        'the query parameter "after" must be the sequence number of an entry of the chain, such as "next" of the last response',
      );
    const links = await audit.links({ after, limit: LIMITS.auditVerifyMax });
    const { faults } = verifyLinks(previousHash, links);
    const knownResult = query.known === undefined ? {} : { known: await checkKnownHead(audit, anchor.seq, query.known) };
    const lastLink = links.findLast(({ hash }) => hash !== null);
    const next = links.length === LIMITS.auditVerifyMax && lastLink ? lastLink.seq : null;
    const presentedFaults = faults.map(({ seq, auditId: id, kind }) => ({ seq, id, kind }));
    return respond(200, {
      checked: links.length,
      faults: presentedFaults,
      next,
      anchor,
      head: await audit.head(),
      ...knownResult,
    });
  },
});

export const auditOperations: readonly Operation[] = [listAuditLogs, exportAuditLog, verifyAuditLog];
