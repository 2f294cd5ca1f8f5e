/**
 * URL groups. Concurrent changes are handled like those of queues; see `queues.ts`.
 *
 * Keeps invariant 28.
 */
import { LIMITS } from '../../config/limits.js';
import type { GroupEndpoint, UrlGroup } from '../../engine/runs/run.js';
import type { CommitResult, CommitUnit, ControlWrite } from '../../engine/writes.js';
import type { ControlStore } from '../../ports/stores/control-store.js';
import type { EndpointSelector, ResourceName, UrlGroupService } from '../interface/messages.js';
import { InstanceLocks } from '../services/instance-locks.js';

export interface UrlGroupsOptions {
  readonly store: ControlStore;
  readonly now: () => number;
  /** Makes a unit durable. Rejects if the unit may not be durable. */
  readonly commit: (unit: CommitUnit) => Promise<CommitResult>;
}

/** Returns whether the endpoint has this name or this URL. */
const isSameEndpoint = (endpoint: GroupEndpoint, { name, url }: EndpointSelector): boolean =>
  (name !== undefined && endpoint.name === name) || (url !== undefined && endpoint.url === url);

/** Returns the endpoints with the added ones, which take the positions of those with the same name or URL. */
function mergeEndpoints(existing: readonly GroupEndpoint[], addedEndpoints: readonly GroupEndpoint[]): readonly GroupEndpoint[] {
  let endpoints = existing;
  for (const { name, url } of addedEndpoints) {
    const identity = name === null ? { url } : { name, url };
    const position = endpoints.findIndex((endpoint) => isSameEndpoint(endpoint, identity));
    const otherEndpoints = endpoints.filter((endpoint) => !isSameEndpoint(endpoint, identity));
    const index = position < 0 ? otherEndpoints.length : Math.min(position, otherEndpoints.length);
    endpoints = [...otherEndpoints.slice(0, index), { name, url }, ...otherEndpoints.slice(index)];
  }
  return endpoints;
}

export class UrlGroups implements UrlGroupService {
  private readonly options: UrlGroupsOptions;
  private readonly locks = new InstanceLocks();

  constructor(options: UrlGroupsOptions) {
    this.options = options;
  }

  addEndpoints(command: Parameters<UrlGroupService['addEndpoints']>[0]): Promise<UrlGroup | 'too-many-endpoints'> {
    const { instanceId, name, endpoints } = command;
    return this.locks.run(instanceId, async () => {
      for (;;) {
        const currentGroup = await this.find({ instanceId, name });
        const mergedEndpoints = mergeEndpoints(currentGroup?.endpoints ?? [], endpoints);
        if (mergedEndpoints.length > LIMITS.maxGroupEndpoints) return 'too-many-endpoints';
        const group = await this.put(instanceId, name, currentGroup, mergedEndpoints);
        if (group) return group;
      }
    });
  }

  removeEndpoints(command: Parameters<UrlGroupService['removeEndpoints']>[0]): Promise<UrlGroup | null> {
    const { instanceId, name, endpoints } = command;
    return this.locks.run(instanceId, async () => {
      for (;;) {
        const currentGroup = await this.find({ instanceId, name });
        if (!currentGroup) return null;
        const remainingEndpoints = currentGroup.endpoints.filter(
          (endpoint) => !endpoints.some((removed) => isSameEndpoint(endpoint, removed)),
        );
        const group = await this.put(instanceId, name, currentGroup, remainingEndpoints);
        if (group) return group;
      }
    });
  }

  find(query: ResourceName): Promise<UrlGroup | null> {
    return this.options.store.findUrlGroup(query);
  }

  list(query: { readonly instanceId: string }): Promise<readonly UrlGroup[]> {
    return this.options.store.listUrlGroups(query);
  }

  delete({ instanceId, name }: ResourceName): Promise<boolean> {
    return this.locks.run(instanceId, async () => {
      for (;;) {
        const currentGroup = await this.find({ instanceId, name });
        if (!currentGroup) return false;
        if (await this.write({ instanceId, name }, currentGroup, { kind: 'delete-url-group', instanceId, name })) return true;
      }
    });
  }

  /**
   * Writes the group, or deletes it if it has no endpoints left. Returns null if another process changed the group since it was
   * read.
   */
  private async put(
    instanceId: string,
    name: string,
    currentGroup: UrlGroup | null,
    endpoints: readonly GroupEndpoint[],
  ): Promise<UrlGroup | null> {
    const now = this.options.now();
    const group: UrlGroup = { name, endpoints, createdAt: currentGroup?.createdAt ?? now, updatedAt: now };
    const write: ControlWrite =
      endpoints.length === 0 ? { kind: 'delete-url-group', instanceId, name } : { kind: 'put-url-group', instanceId, group };
    return (await this.write({ instanceId, name }, currentGroup, write)) ? group : null;
  }

  /** Returns false if another process changed the group since it was read. */
  private async write(id: ResourceName, currentGroup: UrlGroup | null, write: ControlWrite): Promise<boolean> {
    const guard = { kind: 'url-group-unchanged', ...id, was: currentGroup } as const;
    return (await this.options.commit({ guards: [guard], writes: [write] })).kind === 'applied';
  }
}
