/** Rows of the audit log. */
import type { AuditEntry } from '../../../ports/stores/account-store.js';
import { integer, json, jsonOrNull, type Row, text } from '../connection/columns.js';

export function entryOf(row: Row): AuditEntry {
  const request = jsonOrNull<NonNullable<AuditEntry['request']>>(row, 'request');
  return {
    auditId: text(row, 'audit_id'),
    at: integer(row, 'at'),
    actor: text(row, 'actor'),
    action: text(row, 'action'),
    subject: text(row, 'subject'),
    details: json<AuditEntry['details']>(row, 'details'),
    address: text(row, 'address'),
    accountIds: json<AuditEntry['accountIds']>(row, 'account_ids'),
    ...(request ? { request } : {}),
  };
}
