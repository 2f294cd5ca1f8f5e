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
import { fingerprintsOfRepairs } from './0014-fingerprints-of-repairs.js';
import { entriesAboutToGo } from './0015-entries-about-to-go.js';
import { requestsOfCalls } from './0016-requests-of-calls.js';
import { startsOfSteps } from './0017-starts-of-steps.js';
import { limitsPinnedAlone } from './0018-limits-pinned-alone.js';
import { namedTokens } from './0019-named-tokens.js';
import { outboundRules } from './0020-outbound-rules.js';
import { lifeOfUsers } from './0021-life-of-users.js';
import { signatures } from './0022-signatures.js';
import { tasksOfInstances } from './0023-tasks-of-instances.js';
import { storedBytes } from './0024-stored-bytes.js';
import { searchTokenHashes } from './0025-search-token-hashes.js';
import { auditChain } from './0026-audit-chain.js';
import { removalAndSignIn } from './0027-removal-and-sign-in.js';
import { sumsOfCommits } from './0028-sums-of-commits.js';
import { stepIds } from './0029-step-ids.js';
import { insights } from './0030-insights.js';
import { causesOfFailures } from './0031-causes-of-failures.js';
import { alerts } from './0032-alerts.js';
import { triageOfGroups } from './0033-triage-of-groups.js';
import { checksums } from './0034-checksums.js';
import { insightsAtScale } from './0035-insights-at-scale.js';

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
  fingerprintsOfRepairs,
  entriesAboutToGo,
  requestsOfCalls,
  startsOfSteps,
  limitsPinnedAlone,
  namedTokens,
  outboundRules,
  lifeOfUsers,
  signatures,
  tasksOfInstances,
  storedBytes,
  searchTokenHashes,
  removalAndSignIn,
  auditChain,
  sumsOfCommits,
  stepIds,
  insights,
  causesOfFailures,
  alerts,
  triageOfGroups,
  checksums,
  insightsAtScale,
];
