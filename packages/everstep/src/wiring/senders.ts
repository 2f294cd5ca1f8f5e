/** Everything that the server sends: requests to endpoints over HTTP, and work to connected workers. */
import { addAuditKey } from '../audit/index.js';
import { EVENT_LOOP } from '../clock/event-loop.js';
import { elapsedMs, machineTime } from '../clock/machine-time.js';
import { LIMITS } from '../config/limits.js';
import { ReplyBudget } from '../fairness/reply-budget.js';
import { WorkSlices } from '../fairness/work-slices.js';
import { MailSender } from '../mail/mail-sender.js';
import { observeCaller, observeSender } from '../metrics/observed-calls.js';
import { createAddressPolicies } from '../step-calls/addresses/address-policies.js';
import type { OwnListener } from '../step-calls/addresses/address-policy.js';
import { createNameResolver } from '../step-calls/names/index.js';
import { createOutbound } from '../step-calls/outbound.js';
import { createProxiedFetch } from '../step-calls/proxied-fetch.js';
import { ClusterWorkers } from '../worker-connections/cluster-workers.js';
import { WorkerPools } from '../worker-connections/worker-pools.js';
import { WorkerStepCaller } from '../worker-connections/worker-step-caller.js';
import type { AccountParts, Limits } from './accounts.js';
import type { Foundation } from './foundation.js';

export type Senders = ReturnType<typeof openSenders>;

/**
 * Creates the senders of requests and messages. `ownListeners` returns the addresses of this server. In the mode `serve`, they are
 * never called.
 */
export function openSenders(
  foundation: Foundation,
  { authority }: AccountParts,
  { owners }: Limits,
  ownListeners: () => readonly OwnListener[],
) {
  const { config, closers, log, tracing, random, steadyClock, cluster } = foundation;
  const slices = new WorkSlices(owners, EVENT_LOOP);
  const addressPolicyOf = createAddressPolicies({
    allowLoopback: config.allowLoopback,
    allow: config.allowAddresses,
    deny: config.denyAddresses,
    allowPorts: config.allowPorts,
    nat64Prefixes: config.nat64Prefixes,
    resolvesNames: config.egressProxy === null,
    // In development, the developer is the operator, may see why an address is refused, and may call the server itself.
    explain: config.mode === 'dev',
    ...(config.mode === 'serve' ? { ownListeners } : {}),
    names: createNameResolver({ source: config.nameSource, owners }),
    rulesOf: (instanceId) => authority.outboundRulesOf(instanceId),
  });
  const { signingKeys, recordWorkflowOrigin, regionOf, prepare } = authority;
  const keys = { signingKeys, ...addAuditKey(authority, config.auditWebhookKey), recordWorkflowOrigin, regionOf, prepare };
  const { maxReplyBytesInMemory: maxBytes, maxReplyBytes } = LIMITS;
  const replies = new ReplyBudget({ maxBytes, maxReplyBytes }, owners);
  const egressProxy = config.egressProxy === null ? null : { url: config.egressProxy };
  const outboundOptions = { ...keys, ...(egressProxy ? { egressProxy } : {}), addressPolicyOf, owners, replies, slices };
  const outbound = createOutbound({ ...outboundOptions, now: machineTime, random, log });
  closers.add(() => outbound.close());
  const proxy = egressProxy && createProxiedFetch({ egressProxy, allow: config.allowAddresses, log });
  if (proxy) closers.add(() => proxy.close());

  const pools = new WorkerPools(steadyClock);
  const clusterWorkers = cluster && new ClusterWorkers({ local: pools, board: cluster, clock: steadyClock, log });
  const workerCaller = new WorkerStepCaller({ pools, otherTransports: outbound, now: machineTime, slices });
  const mailSender = new MailSender(workerCaller, { settings: config.mail, now: machineTime, log });
  return {
    ...{ slices, replies, addressPolicyOf, pools, clusterWorkers },
    mailRecipients: config.mail ? mailSender : null,
    stepCaller: observeCaller(workerCaller, tracing.observer, elapsedMs),
    messageSender: observeSender(mailSender, tracing.observer, elapsedMs),
    /** `fetch` through the egress proxy; undefined if there is no proxy. */
    proxiedFetch: proxy?.fetch,
  };
}
