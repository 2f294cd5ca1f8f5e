/** A deployment that fails in three ways in two workflows until it is fixed. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, NonRetryableError, serve } from '@everstep/sdk';
import { serveWorkflows, type WorkflowServer } from '@everstep/sdk/testing';

interface Order {
  readonly id: number;
}
interface Fault {
  isBroken: boolean;
  /** Whether a step of /refund has a name that differs from the recorded one. */
  isStepRenamed: boolean;
}
type IncidentPath = '/checkout' | '/refund';

/** Text that makes a message long: 5 KB in 100 lines. */
const LONG_SUFFIX = '\nsearched in /srv/templates/mails/refunds/ab'.repeat(100).concat('\nend of list');

/** Number of runs triggered per request. */
const BATCH_SIZE = 100;

export class Incident {
  private readonly server: WorkflowServer<IncidentPath>;
  private readonly fault: Fault;

  private constructor(server: WorkflowServer<IncidentPath>, fault: Fault) {
    this.server = server;
    this.fault = fault;
  }

  static async open(): Promise<Incident> {
    const fault: Fault = { isBroken: true, isStepRenamed: false };
    const charge = ({ id }: Order) => {
      const cause = new TypeError('connect ECONNREFUSED 10.0.0.7:5432');
      if (fault.isBroken && id % 2 === 1) throw new NonRetryableError(`payment service answered 503 for order ${id}`, { cause });
      return { charge: `ch_${id}` };
    };
    const checkout = serve<Order, string>(async (context) => {
      const { id } = context.payload;
      const { shelf } = await context.run('reserve', () => ({ shelf: `A${id % 7}` }));
      await context.run('charge', () => charge(context.payload));
      return context.run('ship', () => {
        if (fault.isBroken) throw new NonRetryableError(`Cannot read properties of undefined (reading 'street') in order ${id}`);
        return `parcel from ${shelf}`;
      });
    });
    const refund = serve<Order, string>(async (context) => {
      const { id } = context.payload;
      await context.run(fault.isStepRenamed ? 'look up' : 'find', () => id);
      await context.run('charge', () => charge(context.payload));
      return context.run('mail', () => {
        if (fault.isBroken) throw new NonRetryableError(`the template of refund ${id} was not found${LONG_SUFFIX}`);
        return 'sent';
      });
    });
    return new Incident(await serveWorkflows({ '/checkout': checkout, '/refund': refund }), fault);
  }

  get urls(): Readonly<Record<IncidentPath, string>> {
    return this.server.urls;
  }

  fix(): void {
    this.fault.isBroken = false;
  }

  /** Makes the deployed code incompatible with the recorded steps of /refund. */
  rename(): void {
    this.fault.isStepRenamed = true;
  }

  break(): void {
    this.fault.isBroken = true;
  }

  /** Triggers runs, three of five in the first workflow, and waits until all of them are dead letters. */
  async fail(client: Client, runs: number): Promise<void> {
    const paths: readonly IncidentPath[] = ['/checkout', '/refund', '/checkout', '/refund', '/checkout'];
    const items = Array.from({ length: runs }, (_, id) => ({
      workflowUrl: this.urls[paths[id % paths.length] ?? '/checkout'],
      body: { id },
      retries: 0,
    }));
    for (let from = 0; from < runs; from += BATCH_SIZE) await client.triggerMany(items.slice(from, from + BATCH_SIZE));
    while ((await this.countDeadLetters(client)) < runs) await pause(100);
  }

  /** Returns the number of dead letters. */
  async countDeadLetters(client: Client): Promise<number> {
    let count = 0;
    for await (const group of client.dlq.allGroups()) count += group.count;
    return count;
  }

  stop(): Promise<void> {
    return this.server.stop();
  }
}
