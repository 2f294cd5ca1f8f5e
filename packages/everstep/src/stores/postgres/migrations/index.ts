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
import { fingerprintsOfRepairs } from './0012-fingerprints-of-repairs.js';
import { entriesAboutToGo } from './0013-entries-about-to-go.js';
import { spread } from './0014-spread.js';
import { requestsOfCalls } from './0015-requests-of-calls.js';
import { startsOfSteps } from './0016-starts-of-steps.js';
import { limitsPinnedAlone } from './0017-limits-pinned-alone.js';
import { queuedTasks } from './0018-queued-tasks.js';
import { namedTokens } from './0019-named-tokens.js';
import { outboundRules } from './0020-outbound-rules.js';
import { lifeOfUsers } from './0021-life-of-users.js';
import { signatures } from './0022-signatures.js';
import { tasksOfInstances } from './0023-tasks-of-instances.js';
import { storedBytes } from './0024-stored-bytes.js';
import { searchTokenHashes } from './0025-search-token-hashes.js';
import { auditChain } from './0026-audit-chain.js';
import { removalAndSignIn } from './0027-removal-and-sign-in.js';
import { workerPools } from './0028-worker-pools.js';
import { insights } from './0029-insights.js';
import { causesOfFailures } from './0030-causes-of-failures.js';
import { alerts } from './0031-alerts.js';
import { triageOfGroups } from './0032-triage-of-groups.js';
import { triagedGroups } from './0033-triaged-groups.js';

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
  fingerprintsOfRepairs,
  entriesAboutToGo,
  spread,
  requestsOfCalls,
  startsOfSteps,
  limitsPinnedAlone,
  queuedTasks,
  namedTokens,
  outboundRules,
  lifeOfUsers,
  signatures,
  tasksOfInstances,
  storedBytes,
  searchTokenHashes,
  removalAndSignIn,
  auditChain,
  workerPools,
  insights,
  causesOfFailures,
  alerts,
  triageOfGroups,
  triagedGroups,
];
