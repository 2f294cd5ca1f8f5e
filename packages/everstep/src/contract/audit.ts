/** Wire schemas of the audit log. Field names are snake_case; times are Unix milliseconds unless the field says otherwise. */
import Type, { type Static } from 'typebox';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';
import { creationTime, customerId, id } from './fields/record-fields.js';

const AuditedRequest = Type.Object(
  {
    operation: Type.String({ description: 'Operation id of the API, or name of a control socket command.' }),
    credential: Type.String({
      description: 'Credential of the request, for example `api-key key_1`, `session ses_1`, `token tok_1 (name)` or `none`.',
    }),
    user_agent: Type.String({ description: 'Start of the header `User-Agent`.' }),
    queue_id: Type.Union([Type.String(), Type.Null()], { description: 'Id of the queue instance that the request was for.' }),
    outcome: Type.Union([Type.Literal('done'), Type.Literal('refused')]),
  },
  {
    ...NO_OTHER_PROPERTIES,
    description: 'Request that caused the entry. Absent when there was none, and in entries from earlier versions.',
  },
);

export const AuditLogEntry = Type.Object(
  {
    id,
    customer_id: customerId,
    actor: Type.String({ description: 'Email of the user, or `operator`.' }),
    action: Type.String({ description: 'Action, for example `queue.move-to-team`.' }),
    subject: Type.String({ description: 'Id of the object that was changed.' }),
    details: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])),
    address: Type.String({ description: 'IP address of the client.' }),
    request: Type.Optional(AuditedRequest),
    creation_time: creationTime,
  },
  { ...NO_OTHER_PROPERTIES, description: 'Entry of the audit log of an account.' },
);
export type AuditLogEntry = Static<typeof AuditLogEntry>;
export const AuditLogPage = Type.Object(
  {
    cursor: Type.String({ description: 'Cursor for the next page; empty when there are no more results.' }),
    auditlogs: Type.Array(AuditLogEntry),
  },
  { ...NO_OTHER_PROPERTIES, description: 'One page of the audit log.' },
);
export type AuditLogPage = Static<typeof AuditLogPage>;

const chainPosition = (description: string) =>
  Type.Object(
    { seq: Type.Integer(), hash: Type.String({ description: 'SHA-256 hash, hexadecimal.' }) },
    { ...NO_OTHER_PROPERTIES, description },
  );

export const AuditVerification = Type.Object(
  {
    checked: Type.Integer({ description: 'Number of entries that this request checked.' }),
    faults: Type.Array(
      Type.Object(
        {
          seq: Type.Integer(),
          id: Type.Union([Type.String(), Type.Null()], { description: 'Id of the entry. Null when the entry is missing.' }),
          kind: Type.Union([Type.Literal('changed'), Type.Literal('removed'), Type.Literal('inserted')], {
            description:
              '`changed`: the entry was changed, or earlier entries are missing together with their hashes. `removed`: the entry is missing. `inserted`: the entry was added later.',
          }),
        },
        NO_OTHER_PROPERTIES,
      ),
    ),
    next: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Value of `after` for the next request. Null when all entries were checked.',
    }),
    anchor: chainPosition('Last entry that was removed after its retention.'),
    head: chainPosition('Last entry of the chain.'),
    known: Type.Optional(
      Type.Union([Type.Literal('found'), Type.Literal('missing'), Type.Literal('expired')], {
        description: 'Whether the chain contains the entry given as `known`. `expired`: the entry is older than the retention.',
      }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Result of verifying the audit log against its hash chain.' },
);
export type AuditVerification = Static<typeof AuditVerification>;

/** One line of the export. */
export const AuditExportLine = Type.Object(
  {
    seq: Type.Integer({ description: 'Sequence number. To continue, send the number of the last line as `after`.' }),
    hash: Type.String({ description: 'SHA-256 hash, hexadecimal, of the entry and the hash of the previous line.' }),
    id: Type.String(),
    at: Type.Integer({ description: 'Time of the entry, in Unix milliseconds.' }),
    actor: Type.String(),
    action: Type.String(),
    subject: Type.String(),
    address: Type.String(),
    account_ids: Type.Array(Type.String()),
    details: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])),
    request: Type.Union([AuditedRequest, Type.Null()]),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Each line is one entry in JSON, oldest first.' },
);
export type AuditExportLine = Static<typeof AuditExportLine>;
