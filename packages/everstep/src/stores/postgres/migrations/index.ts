import { runs } from './0001-runs.js';
import { controls } from './0002-controls.js';
import { accounts } from './0003-accounts.js';
import { search } from './0004-search.js';
import { nodes } from './0005-nodes.js';
import { leavingNodes } from './0006-leaving-nodes.js';
import { sessions } from './0007-sessions.js';
import { exchanges } from './0008-exchanges.js';
import { repairs } from './0009-repairs.js';
import { forks } from './0010-forks.js';
import { deadLetterGroups } from './0011-dead-letter-groups.js';
import { repairFingerprints } from './0012-repair-fingerprints.js';
import { pendingRepairItems } from './0013-pending-repair-items.js';
import { shardingByInstance } from './0014-sharding-by-instance.js';
import { callRequests } from './0015-call-requests.js';
import { stepStarts } from './0016-step-starts.js';
import { separatePins } from './0017-separate-pins.js';
import { queuedTasks } from './0018-queued-tasks.js';
import { namedTokens } from './0019-named-tokens.js';
import { outboundRules } from './0020-outbound-rules.js';
import { userLifecycle } from './0021-user-lifecycle.js';
import { signatures } from './0022-signatures.js';
import { tasksByInstance } from './0023-tasks-by-instance.js';
import { storedBytes } from './0024-stored-bytes.js';
import { searchTokenHashes } from './0025-search-token-hashes.js';
import { auditChain } from './0026-audit-chain.js';
import { removalAndSignIn } from './0027-removal-and-sign-in.js';
import { workerPools } from './0028-worker-pools.js';
import { insights } from './0029-insights.js';
import { failureCauses } from './0030-failure-causes.js';
import { alerts } from './0031-alerts.js';
import { groupTriage } from './0032-group-triage.js';
import { groupStates } from './0033-group-states.js';
import { unusedUrlParts } from './0034-unused-url-parts.js';
import { replacedTokens } from './0035-replaced-tokens.js';

/** The SQL at index n migrates from version n to version n + 1. Once released, an entry is never changed. */
export const MIGRATIONS: readonly string[] = [
  runs,
  controls,
  accounts,
  search,
  nodes,
  leavingNodes,
  sessions,
  exchanges,
  repairs,
  forks,
  deadLetterGroups,
  repairFingerprints,
  pendingRepairItems,
  shardingByInstance,
  callRequests,
  stepStarts,
  separatePins,
  queuedTasks,
  namedTokens,
  outboundRules,
  userLifecycle,
  signatures,
  tasksByInstance,
  storedBytes,
  searchTokenHashes,
  removalAndSignIn,
  auditChain,
  workerPools,
  insights,
  failureCauses,
  alerts,
  groupTriage,
  groupStates,
  unusedUrlParts,
  replacedTokens,
];
