/** All operations of the management API, in the order of its OpenAPI document. */
import type { Operation } from '../operation.js';
import { accountOperations } from './account.js';
import { auditOperations } from './audit.js';
import { instanceOperations } from './instances.js';
import { invitationOperations } from './invitations.js';
import { logLevelOperations } from './log-level.js';
import { outboundRulesOperations } from './outbound-rules.js';
import { recoveryOperations } from './recovery.js';
import { searchOperations } from './search.js';
import { getManagementOpenApi } from './service.js';
import { sessionOperations } from './session.js';
import { signInOperations } from './sign-in.js';
import { teamOperations } from './teams.js';
import { tokenOperations } from './tokens.js';
import { userOperations } from './users.js';

export const MANAGEMENT_OPERATIONS: readonly Operation[] = Object.freeze([
  ...instanceOperations,
  ...tokenOperations,
  ...outboundRulesOperations,
  ...searchOperations,
  ...teamOperations,
  ...invitationOperations,
  ...userOperations,
  ...recoveryOperations,
  ...accountOperations,
  ...auditOperations,
  ...logLevelOperations,
  ...sessionOperations,
  ...signInOperations,
  getManagementOpenApi,
]);
