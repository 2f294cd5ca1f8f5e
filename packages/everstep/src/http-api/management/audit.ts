/** The audit log: a page of it for the members of accounts; all of it, its export and its hash chain for operators. */
import Type from 'typebox';
import type { Principal } from '../../accounts/account-service.js';
import { exportedLines, NDJSON_TYPE } from '../../audit/exported-entry.js';
import { verifyLinks } from '../../audit/verification.js';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import { AuditExportLine, AuditLogPage, AuditVerification } from '../../contract/management.js';
import type { AuditStore } from '../../ports/audit-store.js';
import { type ApiContext, accountOperation, answer, linesOf, type Operation } from '../operation.js';
import { Cursor, UnixMs } from '../parameters/values.js';
import { RawBody } from '../raw-body.js';
import { presentAudit } from './presenters.js';

const TAG = 'Audit log';
const FOR_OPERATORS = 'For operators.';

const After = Type.Optional(Type.Integer({ minimum: 0, description: 'Only entries behind the one with this seq.' }));

async function requireOperator({ accounts }: ApiContext, principal: Principal): Promise<void> {
  if (!(await accounts.isOperator(principal)))
    throw new ApiError('forbidden', 'only an operator of this installation may read the audit log of all accounts');
}

const listAuditLogs = accountOperation({
  operationId: 'listAuditLogs',
  tag: TAG,
  summary: 'What was changed in the accounts of the user, by whom, when and from where, newest first',
  method: 'GET',
  path: '/v2/auditlogs',
  otherPaths: ['/auditlogs'],
  unknownQuery: 'refuse',
  query: Type.Object({
    cursor: Type.Optional(Cursor('Of the page before.')),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.auditPageMax,
        description: `Entries of a page; ${LIMITS.auditPageDefault} when absent.`,
      }),
    ),
    all: Type.Optional(
      Type.Boolean({
        description: 'True: of all accounts, and what belongs to no account, such as refused requests. For operators.',
      }),
    ),
  }),
  responses: { 200: AuditLogPage },
  errors: ['bad-parameter', 'bad-cursor', 'forbidden'],
  async handle({ query }, context, principal) {
    const { accounts, store, cursors } = context;
    const { all = false, count: limit = LIMITS.auditPageDefault } = query;
    if (all) await requireOperator(context, principal);
    const scope = { operation: 'listAuditLogs', instanceId: principal.user.userId, filters: all ? { all } : {} };
    const after = query.cursor ? (await cursors.open(scope, query.cursor)).after : null;
    // One more than is shown tells whether there is a next page.
    const asked = { after, limit: limit + 1 };
    const found = all
      ? await store.accounts.listAudit({ accountIds: null, ...asked })
      : await accounts.auditLog(principal, asked);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const goesOn = last !== undefined && found.length > limit;
    const visible = all ? null : (await accounts.accountsOf(principal)).map(({ accountId }) => accountId);
    return answer(200, {
      cursor: goesOn ? await cursors.seal(scope, { after: last.auditId, horizon: null, left: null }) : '',
      auditlogs: page.map((entry) => presentAudit(entry, visible)),
    });
  },
});

const exportAuditLog = accountOperation({
  operationId: 'exportAuditLog',
  tag: TAG,
  summary: 'Export the audit log of all accounts, oldest first',
  description: `${FOR_OPERATORS} NDJSON, at most ${LIMITS.auditExportMax} lines. To continue, give the seq of the last line as after; an answer without a line is the end. With several nodes an entry appears about a second after its change.`,
  method: 'GET',
  path: '/v2/audit/export',
  unknownQuery: 'refuse',
  sendsLines: true,
  query: Type.Object({
    from: Type.Optional(UnixMs('Only entries of this time or later, Unix ms')),
    to: Type.Optional(UnixMs('Only entries of this time or earlier, Unix ms')),
    after: After,
    count: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMITS.auditExportMax, description: `Lines; ${LIMITS.auditExportMax} when absent.` }),
    ),
  }),
  responses: { 200: linesOf(AuditExportLine) },
  errors: ['bad-parameter', 'forbidden'],
  async handle({ query }, context, principal) {
    await requireOperator(context, principal);
    const { after = 0, count: limit = LIMITS.auditExportMax, from = null, to = null } = query;
    const entries = await context.store.audit.chained({ after, limit, from, to });
    return answer(200, new RawBody(NDJSON_TYPE, exportedLines(entries)));
  },
});

/** An entry of the chain as somebody noted it: its seq, a colon, its hash. */
const KNOWN = /^(\d{1,15}):([0-9a-f]{64})$/;

async function isKnown(audit: AuditStore, anchorSeq: number, known: string): Promise<'found' | 'missing' | 'expired'> {
  const [, seqText = '', hash] = KNOWN.exec(known) ?? [];
  const seq = Number(seqText);
  if (seq < anchorSeq) return 'expired';
  return (await hashAt(audit, seq)) === hash ? 'found' : 'missing';
}

/** The hash of the chain at this number; null: it has none there. */
async function hashAt(audit: AuditStore, seq: number): Promise<string | null> {
  const anchor = await audit.anchor();
  if (seq === anchor.seq) return anchor.hash;
  const [link] = seq === 0 ? [] : await audit.links({ after: seq - 1, limit: 1 });
  return link?.seq === seq ? link.hash : null;
}

const verifyAuditLog = accountOperation({
  operationId: 'verifyAuditLog',
  tag: TAG,
  summary: 'Check the audit log against its hash chain',
  description: `${FOR_OPERATORS} Checks up to ${LIMITS.auditVerifyMax} entries, from the oldest on; give next as after for the others.`,
  method: 'GET',
  path: '/v2/audit/verify',
  unknownQuery: 'refuse',
  query: Type.Object({
    after: After,
    known: Type.Optional(
      Type.String({
        pattern: KNOWN.source,
        maxLength: 80,
        description: 'seq:hash of an entry that was noted outside of the store: also says whether the chain still has it.',
      }),
    ),
  }),
  responses: { 200: AuditVerification },
  errors: ['bad-parameter', 'forbidden'],
  async handle({ query }, context, principal) {
    await requireOperator(context, principal);
    const { audit } = context.store;
    const anchor = await audit.anchor();
    // Entries before the anchor may have gone since the last request.
    const after = Math.max(query.after ?? 0, anchor.seq);
    const previous = await hashAt(audit, after);
    if (previous === null) throw new ApiError('bad-parameter', 'after is not the seq of an entry of the chain');
    const links = await audit.links({ after, limit: LIMITS.auditVerifyMax });
    const { faults } = verifyLinks(previous, links);
    const known = query.known === undefined ? {} : { known: await isKnown(audit, anchor.seq, query.known) };
    const last = links.findLast(({ hash }) => hash !== null);
    const next = links.length === LIMITS.auditVerifyMax && last ? last.seq : null;
    const shown = faults.map(({ seq, auditId: id, kind }) => ({ seq, id, kind }));
    return answer(200, { checked: links.length, faults: shown, next, anchor, head: await audit.head(), ...known });
  },
});

export const auditOperations: readonly Operation[] = [listAuditLogs, exportAuditLog, verifyAuditLog];
