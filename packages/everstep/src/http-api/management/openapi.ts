/** OpenAPI 3.1 document of the management API. */
import type { TSchema } from 'typebox';
import { AuditExportLine, AuditLogEntry, AuditLogPage, AuditVerification } from '../../contract/audit.js';
import { ErrorBody } from '../../contract/errors.js';
import { LogLevelEntry } from '../../contract/installation/log-level.js';
import {
  AccountEntry,
  ApiKeyEntry,
  InstanceRecord,
  InstanceUsage,
  OutboundRulesRecord,
  PlanRecord,
  QueueStats,
  TeamEntry,
  TeamMember,
  TokenEntry,
} from '../../contract/management.js';
import { SearchIndexEntry, SearchIndexStatsEntry, SearchStats } from '../../contract/search.js';
import { OwnSession } from '../../contract/session.js';
import { openApiOf, SESSION_SECURITY } from '../openapi/openapi-document.js';
import { MANAGEMENT_OPERATIONS } from './index.js';

const NAMED_SCHEMAS: Readonly<Record<string, TSchema>> = {
  Error: ErrorBody,
  Account: AccountEntry,
  ApiKey: ApiKeyEntry,
  AuditExportLine,
  AuditLogEntry,
  AuditLogPage,
  AuditVerification,
  LogLevel: LogLevelEntry,
  Plan: PlanRecord,
  Instance: InstanceRecord,
  QueueStats,
  InstanceUsage,
  OutboundRules: OutboundRulesRecord,
  UserSession: OwnSession,
  SearchIndex: SearchIndexEntry,
  SearchIndexStats: SearchIndexStatsEntry,
  SearchStats,
  Team: TeamEntry,
  TeamMember,
  Token: TokenEntry,
};

/** Returns the document. `serverVersion` is the version of Everstep that it mentions. */
export function managementOpenApiDocument(serverVersion: string): object {
  return openApiOf({
    info: {
      title: 'Everstep management API',
      version: '2.0.0',
      description: `Manages accounts, teams, queue instances, budgets and search indexes. Served by Everstep ${serverVersion}.`,
    },
    servers: [{ url: '/', description: 'This server.' }],
    security: [{ basic: [] }, { session: [] }],
    securityOf: ({ access }) => (access === 'session' ? [{ session: [] }] : null),
    securitySchemes: {
      session: SESSION_SECURITY,
      basic: { type: 'http', scheme: 'basic', description: 'User name: email of the user. Password: an API key of the user.' },
    },
    operations: MANAGEMENT_OPERATIONS,
    named: NAMED_SCHEMAS,
  });
}
