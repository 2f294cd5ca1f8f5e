/** Hands tasks to other nodes. The tasks of one turn of the event loop are handed over together. */
import type { Clock } from '../../ports/clock.js';
import type { Cluster } from '../../ports/cluster.js';
import type { Log } from '../../ports/log.js';
import type { DueTasks } from '../due/due-tasks.js';
import type { DeliveryRef } from '../gates/delivery.js';

export interface HandOverDeps {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Log;
  readonly due: Pick<DueTasks, 'startScan' | 'restart'>;
}

interface HandOverGroup {
  readonly to: string;
  readonly isLent: boolean;
  readonly refs: DeliveryRef[];
  readonly settled: Promise<void>;
}

export class HandOvers {
  private readonly deps: HandOverDeps;
  private readonly groups = new Map<string, HandOverGroup>();

  constructor(deps: HandOverDeps) {
    this.deps = deps;
  }

  /**
   * Hands the task to a node at the end of the turn. Resolves when the handover is written or has failed. After a failure, this
   * node reads its tasks again. Never rejects. If `isLent`, the gates of this node count the delivery until the other node reports
   * its end.
   */
  add({ runKey, slot }: DeliveryRef, to: string, isLent = false): Promise<void> {
    const groupKey = `${to} ${isLent}`;
    let group = this.groups.get(groupKey);
    if (!group) {
      const whenSettled = new Promise<void>((resolve) => {
        this.deps.clock.endOfTurn(() => resolve(this.write(groupKey)));
      });
      group = { to, isLent, refs: [], settled: whenSettled };
      this.groups.set(groupKey, group);
    }
    group.refs.push({ runKey, slot });
    return group.settled;
  }

  private async write(groupKey: string): Promise<void> {
    const { cluster, log, due } = this.deps;
    const group = this.groups.get(groupKey);
    this.groups.delete(groupKey);
    if (!group) return;
    const { refs, to, isLent } = group;
    try {
      await cluster.handOver(refs, to, ...(isLent ? [{ isLent }] : []));
    } catch (error) {
      log.warn({ toNode: to, error: String(error) }, 'could not hand tasks to another node, releasing them');
      due.restart();
    }
  }
}
