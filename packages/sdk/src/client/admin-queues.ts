/** Queue instances, as calls of the management API. */
import type { Duration } from '../duration.js';
import type { QueueInstance, QueueOutboundRules, QueuePlan, QueueStats, QueueUsage } from './admin-types.js';
import { durationText } from './settings.js';
import { type Call, jsonCall } from './transport.js';

export interface NewQueue {
  readonly name: string;
  readonly region: string;
  /** The team that is to own it; absent: the personal account. */
  readonly teamId?: string;
}

export type NarrowedDestinations = Pick<QueueOutboundRules, 'deny' | 'only'>;

const at = (action: string, queueId: string) => `/v2/queue/${action}/${encodeURIComponent(queueId)}`;

export class Queues {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** Those of all accounts that the user is in. */
  list(): Promise<readonly QueueInstance[]> {
    return this.call({ method: 'GET', path: '/v2/queue/users' });
  }

  create({ name, region, teamId }: NewQueue): Promise<QueueInstance> {
    return this.call(jsonCall('POST', '/v2/queue/users', { name, region, team_id: teamId }));
  }

  get(queueId: string): Promise<QueueInstance> {
    return this.call({ method: 'GET', path: at('user', queueId) });
  }

  /**
   * Deletes the queue instance with all its data, for good. `confirm` is its name. Its tokens are refused from then on; until its
   * data is removed it is listed with the state `deleting`.
   */
  async delete(queueId: string, { confirm }: { readonly confirm: string }): Promise<void> {
    await this.call({ method: 'DELETE', path: at('user', queueId), query: { confirm } });
  }

  /** Resolves with the new tokens; the old ones are refused from then on. */
  rotateTokens(queueId: string): Promise<QueueInstance> {
    return this.call({ method: 'POST', path: at('rotate-token', queueId) });
  }

  /** What is in the instance, and its tokens, stay as they are. From now on the team is billed for it. */
  async moveToTeam(queueId: string, teamId: string): Promise<void> {
    await this.call(jsonCall('POST', '/v2/queue/move-to-team', { queue_id: queueId, target_team_id: teamId }));
  }

  /** Whole dollars a calendar month (UTC); 0: no limit. */
  async updateBudget(queueId: string, dollars: number): Promise<void> {
    await this.call(jsonCall('PATCH', at('update-budget', queueId), { budget: dollars }));
  }

  /** Who is told when 80 % and 100 % of the budget are spent; null: nobody. */
  async setBudgetAlert(queueId: string, url: string | null): Promise<void> {
    await this.call(jsonCall('POST', at('set-budget-alert', queueId), { url }));
  }

  /** For the operator of the installation alone. */
  async setPlan(queueId: string, plan: string): Promise<void> {
    await this.call(jsonCall('POST', at('set-plan', queueId), { plan_name: plan }));
  }

  /** What the instance may call, beside the rules of the installation. */
  outboundRules(queueId: string): Promise<QueueOutboundRules> {
    return this.call({ method: 'GET', path: at('outbound-rules', queueId) });
  }

  /** Replaces both lists. `only`: the only destinations that are called; null: no such bound. */
  async setOutboundRules(queueId: string, { deny, only }: NarrowedDestinations): Promise<void> {
    await this.call(jsonCall('POST', at('set-outbound-rules', queueId), { deny, only }));
  }

  /** Replaces the private destinations that the instance may call. For the operator of the installation alone. */
  async setAllowedDestinations(queueId: string, allow: readonly string[]): Promise<void> {
    await this.call(jsonCall('POST', at('set-allowed-destinations', queueId), { allow }));
  }

  /** `period`: how far back to look, an hour to 30 days; 30 days when absent. */
  stats(queueId: string, { period }: { readonly period?: Duration } = {}): Promise<QueueStats> {
    const query = period === undefined ? undefined : { period: durationText(period) };
    return this.call({ method: 'GET', path: at('stats', queueId), ...(query ? { query } : {}) });
  }

  /** By day (UTC), today included; 30 days when absent, at most 366. */
  usage(queueId: string, options: { readonly days?: number } = {}): Promise<QueueUsage> {
    return this.call({ method: 'GET', path: at('usage', queueId), query: options });
  }

  /** The plans of the installation. */
  plans(): Promise<readonly QueuePlan[]> {
    return this.call({ method: 'GET', path: '/v2/queue/plans' });
  }
}
