/** Client for queue instances (management API). */
import type { Duration } from '../../duration.js';
import type { InstanceOutboundRules, InstancePlan, InstanceUsage, QueueInstance, QueueStats } from '../generated/index.js';
import { durationText } from '../settings.js';
import { type Call, jsonCall } from '../transport.js';

/** Settings of a new queue instance. */
export interface NewInstance {
  /** Display name of the instance. */
  readonly name: string;
  /** Region of the instance, such as `eu-central-1`. */
  readonly region: string;
  /** Id of the team that owns the instance. Default: your personal account. */
  readonly teamId?: string;
}

/** Lists of destinations that the owner of a queue instance can set. */
export type NarrowedDestinations = Pick<InstanceOutboundRules, 'deny' | 'only'>;

const pathOf = (action: string, instanceId: string) => `/v2/queue/${action}/${encodeURIComponent(instanceId)}`;

/** Operations on queue instances. Use it through `AdminClient.instances`. Methods reject with EverstepError. */
export class Instances {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** Lists the queue instances of all accounts that the user belongs to. */
  list(): Promise<readonly QueueInstance[]> {
    return this.call({ method: 'GET', path: '/v2/queue/users' });
  }

  /** Creates a queue instance and returns it with its tokens. */
  create({ name, region, teamId }: NewInstance): Promise<QueueInstance> {
    return this.call(jsonCall('POST', '/v2/queue/users', { name, region, team_id: teamId }));
  }

  /** Returns one queue instance. */
  get(instanceId: string): Promise<QueueInstance> {
    return this.call({ method: 'GET', path: pathOf('user', instanceId) });
  }

  /**
   * Permanently deletes the queue instance with all its data. `confirm` must be its name. Its tokens stop working
   * immediately. It is listed with the state `deleting` until its data is removed.
   */
  async delete(instanceId: string, { confirm }: { readonly confirm: string }): Promise<void> {
    await this.call({ method: 'DELETE', path: pathOf('user', instanceId), query: { confirm } });
  }

  /** Replaces the tokens and returns the instance with the new ones. The old tokens stop working immediately. */
  rotateTokens(instanceId: string): Promise<QueueInstance> {
    return this.call({ method: 'POST', path: pathOf('rotate-token', instanceId) });
  }

  /** Moves the instance to a team, which is billed for it from now on. Its data and tokens do not change. */
  async moveToTeam(instanceId: string, teamId: string): Promise<void> {
    await this.call(jsonCall('POST', '/v2/queue/move-to-team', { queue_id: instanceId, target_team_id: teamId }));
  }

  /** Sets the budget in whole dollars per calendar month (UTC). 0 removes the limit. */
  async updateBudget(instanceId: string, dollars: number): Promise<void> {
    await this.call(jsonCall('PATCH', pathOf('update-budget', instanceId), { budget: dollars }));
  }

  /** Sets the URL that is notified when 80% and 100% of the budget are spent. Null disables the notification. */
  async setBudgetAlert(instanceId: string, url: string | null): Promise<void> {
    await this.call(jsonCall('POST', pathOf('set-budget-alert', instanceId), { url }));
  }

  /** Sets the plan. For operators only. */
  async setPlan(instanceId: string, plan: string): Promise<void> {
    await this.call(jsonCall('POST', pathOf('set-plan', instanceId), { plan_name: plan }));
  }

  /** Returns the rules for destinations that the instance may call, in addition to the rules of the installation. */
  outboundRules(instanceId: string): Promise<InstanceOutboundRules> {
    return this.call({ method: 'GET', path: pathOf('outbound-rules', instanceId) });
  }

  /**
   * Replaces both lists of destinations. `only` lists the only destinations that may be called. If it is null, there is no
   * such restriction.
   */
  async setOutboundRules(instanceId: string, { deny, only }: NarrowedDestinations): Promise<void> {
    await this.call(jsonCall('POST', pathOf('set-outbound-rules', instanceId), { deny, only }));
  }

  /** Replaces the private destinations that the instance may call. For operators only. */
  async setAllowedDestinations(instanceId: string, allow: readonly string[]): Promise<void> {
    await this.call(jsonCall('POST', pathOf('set-allowed-destinations', instanceId), { allow }));
  }

  /** Returns usage and limits. `period` is the time to look back, from an hour to 30 days. Default: 30 days. */
  stats(instanceId: string, { period }: { readonly period?: Duration } = {}): Promise<QueueStats> {
    const query = period === undefined ? undefined : { period: durationText(period) };
    return this.call({ method: 'GET', path: pathOf('stats', instanceId), ...(query ? { query } : {}) });
  }

  /** Returns the usage per day (UTC), including today. `days` is at most 366. Default: 30. */
  usage(instanceId: string, options: { readonly days?: number } = {}): Promise<InstanceUsage> {
    return this.call({ method: 'GET', path: pathOf('usage', instanceId), query: options });
  }

  /** Lists the plans of the installation. */
  plans(): Promise<readonly InstancePlan[]> {
    return this.call({ method: 'GET', path: '/v2/queue/plans' });
  }
}
