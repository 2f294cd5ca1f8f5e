/**
 * Several nodes: deliveries to workers that are connected only to other nodes.
 *
 * A delivery without a shared limit is handed to a node with a worker, which continues the run. A delivery with a shared limit
 * is lent: it keeps its slot and its position in the gates of this node, while the other node makes it without passing its own
 * gates. The limits therefore stay exact, and the request and its reply never pass through this node.
 *
 * The borrower reports the end of a loan with a notification, which contains the result for the breaker of the lender. The lender
 * also queries the database for loans that have ended, because a notification can be lost and the borrower can crash. The result
 * of such a loan is unknown.
 *
 * Keeps invariant 25.
 */
import { truncateText } from '@everstep/sdk/protocol';
import type { EndedLoan, LoanReport, TaskId } from '../../ports/cluster.js';
import type { WorkerNodes } from '../../ports/workers.js';
import { type Delivery, type DeliveryRef, type DeliveryResult, deliveryKeyOf, NOT_SENT } from '../gates/delivery.js';
import type { GateHolders } from './gate-holders.js';
import type { HandOverDeps, HandOvers } from './handovers.js';
import type { Attempt } from './sender.js';

/** Interval at which the lender checks for loans that have ended. */
const VERIFY_EVERY_MS = 1_000;
/** Maximum size of the reports in a notice, whose size is limited. */
const MAX_NOTICE_BYTES = 7_000;
/** Maximum length of a reported error. */
const MAX_ERROR_LENGTH = 200;

/** Result of a delivery that another node has made and has not reported. */
const UNKNOWN: DeliveryResult = { kind: 'unknown' };

export interface LoansDeps extends HandOverDeps {
  readonly nodes: WorkerNodes;
  readonly holders: Pick<GateHolders, 'isLimited'>;
  readonly handOvers: HandOvers;
  /** Called when the request of a lent delivery was sent. */
  readonly onSent: (ref: DeliveryRef) => void;
}

interface OpenLoan extends TaskId {
  readonly to: string;
  /** Whether the loan is no longer being written: only then can its absence in the database mean that it has ended. */
  isSettled: boolean;
  readonly end: (result: DeliveryResult) => void;
}

interface ReportEntry {
  readonly kind: keyof LoanReport;
  readonly task: EndedLoan;
}

/** Returns what the breaker of this node counts for a delivery that another node has made. */
function resultOf({ error }: EndedLoan): DeliveryResult {
  if (error === undefined) return UNKNOWN;
  return error === null ? { kind: 'delivered' } : { kind: 'failed', error };
}

export class Loans {
  private readonly deps: LoansDeps;
  private readonly openLoans = new Map<string, OpenLoan>();
  /** Lenders of the deliveries in flight here. */
  private readonly lenders = new Map<string, string>();
  /** What to report at the end of the turn, by lender. */
  private readonly reports = new Map<string, ReportEntry[]>();
  private cancelVerify: (() => void) | null = null;
  private isVerifying = false;

  constructor(deps: LoansDeps) {
    this.deps = deps;
  }

  /** Passes on a delivery that this node cannot make. Returns its attempt, or null if this node makes it. */
  forward(delivery: Delivery): Promise<Attempt> | null {
    const { nodes, holders } = this.deps;
    const { limits, runKey } = delivery;
    const { instanceId, origin, lentBy } = limits;
    if (limits.workers === undefined || limits.queue !== undefined) return null;
    if (nodes.isServedHere(instanceId, origin)) {
      if (lentBy !== undefined) this.lenders.set(deliveryKeyOf(delivery), lentBy);
      return null;
    }
    if (lentBy !== undefined) {
      this.giveBack(delivery, lentBy);
      return HANDED_OVER;
    }
    const to = nodes.nodeFor(instanceId, origin, runKey);
    if (to === null) return null;
    if (holders.isLimited(limits)) return this.lend(delivery, to);
    void this.deps.handOvers.add(delivery, to);
    return HANDED_OVER;
  }

  /** Hands the delivery back if another node lent it and no worker of this node serves it. Returns whether it was handed back. */
  returnIfUnserved(delivery: Delivery): boolean {
    const { instanceId, origin } = delivery.limits;
    return !this.deps.nodes.isServedHere(instanceId, origin) && this.returnIfLent(delivery);
  }

  /** Hands the delivery back if another node lent it. Returns whether it was handed back. */
  returnIfLent(delivery: Delivery): boolean {
    const { lentBy } = delivery.limits;
    if (lentBy === undefined) return false;
    this.giveBack(delivery, lentBy);
    return true;
  }

  /** Called when the request of a delivery of this node was sent. */
  requestSent({ runKey, slot }: DeliveryRef): void {
    const lender = this.lenders.get(deliveryKeyOf({ runKey, slot }));
    if (lender !== undefined) this.report(lender, 'sent', { runKey, slot });
  }

  /** Called when the attempt of a delivery has ended here; null after an unexpected error. Returns whether this ends a loan. */
  attemptEnded(delivery: Delivery, attempt: Attempt | null): boolean {
    const { lentBy } = delivery.limits;
    if (lentBy === undefined || attempt?.kind === 'handed-over') return false;
    // The attempt starts again here, within the same loan.
    if (attempt?.kind === 'needs-long-slot' || attempt?.kind === 'waits-for-memory') return false;
    const result = attempt?.kind === 'attempted' ? attempt.result : NOT_SENT;
    if (result.kind === 'not-sent') {
      this.giveBack(delivery, lentBy);
      return true;
    }
    this.lenders.delete(deliveryKeyOf(delivery));
    const error = result.kind === 'failed' ? truncateText(result.error, MAX_ERROR_LENGTH) : null;
    this.report(lentBy, 'ended', { ...delivery, error });
    return true;
  }

  /** Called when another node reports on deliveries that this node has lent to it. */
  reportReceived({ sent, ended, returned }: LoanReport): void {
    for (const ref of sent) if (this.openLoans.has(deliveryKeyOf(ref))) this.deps.onSent(ref);
    for (const loan of ended) this.openLoans.get(deliveryKeyOf(loan))?.end(resultOf(loan));
    for (const ref of returned) this.openLoans.get(deliveryKeyOf(ref))?.end(NOT_SENT);
  }

  /** Checks in the database which loans have ended, because reports of other nodes may be lost. */
  verify(): void {
    const loans = [...this.openLoans.values()].filter(({ isSettled }) => isSettled);
    if (loans.length === 0 || this.isVerifying) return;
    this.isVerifying = true;
    const { cluster, log } = this.deps;
    cluster
      .openLoans(loans.map(({ runKey, slot, to }) => ({ runKey, slot, to })))
      .then((openLoans) => {
        const openIds = new Set(openLoans.map(deliveryKeyOf));
        for (const loan of loans)
          if (!openIds.has(deliveryKeyOf(loan)) && this.openLoans.get(deliveryKeyOf(loan)) === loan) loan.end(UNKNOWN);
      })
      .catch((error: unknown) =>
        log.warn({ error: String(error) }, 'could not check deliveries handed to other nodes, retrying in 1 s'),
      )
      .finally(() => {
        this.isVerifying = false;
      });
  }

  /** Forgets everything: this node stops, or other nodes have taken over its work. */
  clear(): void {
    this.cancelVerify?.();
    this.cancelVerify = null;
    this.lenders.clear();
    for (const { end } of [...this.openLoans.values()]) end(NOT_SENT);
  }

  private lend({ runKey, slot }: Delivery, to: string): Promise<Attempt> {
    const id = deliveryKeyOf({ runKey, slot });
    return new Promise((resolve) => {
      const loan: OpenLoan = {
        ...{ runKey, slot, to, isSettled: false },
        end: (result) => {
          this.openLoans.delete(id);
          resolve({ kind: 'attempted', result, entry: null, giveUpCount: 0, response: null });
        },
      };
      this.openLoans.set(id, loan);
      // If the handover failed, it may still have been written. The database shows whether it was.
      void this.deps.handOvers.add(loan, to, true).then(() => {
        loan.isSettled = true;
      });
      this.verifyLater();
    });
  }

  private verifyLater(): void {
    if (this.cancelVerify) return;
    const { clock } = this.deps;
    this.cancelVerify = clock.setTimer(clock.now() + VERIFY_EVERY_MS, () => {
      this.cancelVerify = null;
      this.verify();
      if (this.openLoans.size > 0) this.verifyLater();
    });
  }

  private giveBack(delivery: Delivery, lender: string): void {
    this.lenders.delete(deliveryKeyOf(delivery));
    // Reported only after the task is the lender's again: the lender must not miss it.
    void this.deps.handOvers.add(delivery, lender).then(() => this.report(lender, 'returned', delivery));
  }

  private report(lender: string, kind: keyof LoanReport, { runKey, slot, error }: EndedLoan): void {
    let report = this.reports.get(lender);
    if (!report) {
      report = [];
      this.reports.set(lender, report);
      this.deps.clock.endOfTurn(() => this.send(lender));
    }
    report.push({ kind, task: { runKey, slot, ...(error === undefined ? {} : { error }) } });
  }

  private send(lender: string): void {
    const report = this.reports.get(lender) ?? [];
    this.reports.delete(lender);
    for (const entries of noticesOf(report)) {
      const tasks = (kind: keyof LoanReport) => entries.filter((entry) => entry.kind === kind).map(({ task }) => task);
      const [sent, ended, returned] = [tasks('sent'), tasks('ended'), tasks('returned')];
      this.deps.cluster.notify({ kind: 'loans', to: lender, sent, ended, returned });
    }
  }
}

/** Divides a report among notices of limited size. */
function noticesOf(report: readonly ReportEntry[]): readonly (readonly ReportEntry[])[] {
  const notices: ReportEntry[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const entry of report) {
    const entryBytes = Buffer.byteLength(JSON.stringify(entry.task)) + 1;
    bytes += entryBytes;
    if (bytes > MAX_NOTICE_BYTES) {
      notices.push([]);
      bytes = entryBytes;
    }
    notices.at(-1)?.push(entry);
  }
  return notices;
}

const HANDED_OVER: Promise<Attempt> = Promise.resolve({ kind: 'handed-over', result: NOT_SENT });
