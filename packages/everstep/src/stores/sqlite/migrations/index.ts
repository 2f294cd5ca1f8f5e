import { initial } from './0001-initial.js';
import { waitsAndMessages } from './0002-waits-and-messages.js';
import { controls } from './0003-controls.js';
import { accounts } from './0004-accounts.js';
import { search } from './0005-search.js';
import { daysAndAlerts } from './0006-days-and-alerts.js';
import { pricesAndLogins } from './0007-prices-and-logins.js';
import { messages } from './0008-messages.js';
import { sessions } from './0009-sessions.js';
import { exchanges } from './0010-exchanges.js';
import { repairs } from './0011-repairs.js';
import { forks } from './0012-forks.js';
import { deadLetterGroups } from './0013-dead-letter-groups.js';
import { repairFingerprints } from './0014-repair-fingerprints.js';
import { pendingRepairItems } from './0015-pending-repair-items.js';
import { callRequests } from './0016-call-requests.js';
import { stepStarts } from './0017-step-starts.js';
import { separatePins } from './0018-separate-pins.js';
import { namedTokens } from './0019-named-tokens.js';
import { outboundRules } from './0020-outbound-rules.js';
import { userLifecycle } from './0021-user-lifecycle.js';
import { signatures } from './0022-signatures.js';
import { tasksByInstance } from './0023-tasks-by-instance.js';
import { storedBytes } from './0024-stored-bytes.js';
import { searchTokenHashes } from './0025-search-token-hashes.js';
import { removalAndSignIn } from './0026-removal-and-sign-in.js';
import { auditChain } from './0027-audit-chain.js';
import { commitSums } from './0028-commit-sums.js';
import { stepIds } from './0029-step-ids.js';
import { insights } from './0030-insights.js';
import { failureCauses } from './0031-failure-causes.js';
import { alerts } from './0032-alerts.js';
import { groupTriage } from './0033-group-triage.js';
import { checksums } from './0034-checksums.js';
import { insightsAtScale } from './0035-insights-at-scale.js';
import { replacedTokens } from './0036-replaced-tokens.js';

/** The SQL at index n migrates from version n to version n + 1. Once released, an entry is never changed. */
export const MIGRATIONS: readonly string[] = [
  initial,
  waitsAndMessages,
  controls,
  accounts,
  search,
  daysAndAlerts,
  pricesAndLogins,
  messages,
  sessions,
  exchanges,
  repairs,
  forks,
  deadLetterGroups,
  repairFingerprints,
  pendingRepairItems,
  callRequests,
  stepStarts,
  separatePins,
  namedTokens,
  outboundRules,
  userLifecycle,
  signatures,
  tasksByInstance,
  storedBytes,
  searchTokenHashes,
  removalAndSignIn,
  auditChain,
  commitSums,
  stepIds,
  insights,
  failureCauses,
  alerts,
  groupTriage,
  checksums,
  insightsAtScale,
  replacedTokens,
];
