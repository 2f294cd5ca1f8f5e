/**
 * One connection of a worker as the server sees it, from the accepted handshake until it is closed: the requests in
 * flight, their timeouts, heartbeats and batches of frames. It does not depend on WebSockets.
 */
import { type HelloFrame, MISSED_HEARTBEATS, type ServiceFrame } from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';
import type { Clock } from '../ports/clock.js';
import { type FrameSocket, type FrameText, writeFrames } from './frame-writer.js';
import { InactivityTracker } from './inactivity-tracker.js';
import { type ReceivedFrame, readFrames } from './read-frames.js';
import { ReadingRate } from './reading-rate.js';
import { UnexpectedFrames } from './unexpected-frames.js';

/** Details that a worker reported about itself, without its token. */
export type WorkerProfile = Omit<HelloFrame, 'kind' | 'token' | 'connection' | 'protocol'>;

/** A `step` frame whose request is JSON text in parts, because it is long. */
export interface LongStepRequest {
  readonly kind: 'long-step';
  readonly workflow: string;
  readonly requestParts: readonly string[];
}

/** A request to a worker. The connection adds the id. */
export type WorkerRequest =
  | Omit<Extract<ServiceFrame, { kind: 'step' }>, 'id'>
  | LongStepRequest
  | Omit<Extract<ServiceFrame, { kind: 'check' }>, 'id'>
  | Omit<Extract<ServiceFrame, { kind: 'notice' }>, 'id'>;

export type ExchangeOutcome =
  | { readonly kind: 'replied'; readonly reply: unknown; readonly bytes: number }
  | { readonly kind: 'noticed'; readonly outcome: unknown }
  /** The reply was too long, so the worker did not send it. */
  | { readonly kind: 'too-long'; readonly bytes: number }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'aborted' }
  /** The connection ended. `started` is true if the worker is known to have started the work. */
  | { readonly kind: 'lost'; readonly started: boolean };

export interface ExchangeOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called when the request is sent. */
  readonly onSent?: (() => void) | undefined;
  /** Settles when the reply is recorded or dropped. */
  readonly outcomeRecorded?: Promise<void> | undefined;
}

interface Exchange {
  /** Time on the clock of elapsed time when the request times out. */
  readonly deadline: number;
  readonly finish: (outcome: ExchangeOutcome) => void;
  readonly outcomeRecorded: Promise<void> | undefined;
  /** Ends the request, and notifies the worker that nothing waits for its reply. */
  readonly cancel: (outcome: ExchangeOutcome) => void;
  /** Called when the request is sent; null after that. */
  onSent: (() => void) | null;
  /** Number of characters that the connection had sent when the request was sent. */
  sentThrough: number;
}

/** A frame that is sent at the end of the turn. `exchange` is set if the frame is its request. */
interface OutgoingFrame {
  readonly text: FrameText;
  readonly exchange: Exchange | null;
}

export interface WorkerLinkOptions {
  readonly connectionId: string;
  readonly instanceId: string;
  readonly profile: WorkerProfile;
  readonly socket: FrameSocket;
  /** Unix ms. */
  readonly connectedAt: number;
  /** Clock of elapsed time: setting the time of the machine ends no connection and no request. */
  readonly elapsedClock: Clock;
  readonly heartbeatMs: number;
  /** Called when the number of free slots, or whether the connection accepts work, has changed. */
  readonly onSlotsChanged: (link: WorkerLink) => void;
  /**
   * Called once, when the connection has ended. `reason` contains no text from the worker. `closeCode` is the WebSocket close code,
   * if the worker or the network has ended the connection.
   */
  readonly onEnded: (link: WorkerLink, reason: string, closeCode?: number) => void;
}

/** WebSocket close codes. */
export const CLOSE_CODES = { normal: 1000, goingAway: 1001, policy: 1008 } as const;

const MAX_REASON_LENGTH = 120;
const noop = (): void => {};
const READS_TOO_SLOWLY = 'the worker reads too slowly';
const SECOND_MS = 1_000;
/** Minimum length that a worker must read within `unreadRequestTimeoutMs` while a request that was given up is unread. */
const MIN_READ_LENGTH = (LIMITS.unreadRequestTimeoutMs / SECOND_MS) * LIMITS.minWorkerBytesPerS;

function textOf(request: WorkerRequest, id: number): FrameText {
  if (request.kind !== 'long-step') return JSON.stringify({ ...request, id });
  const { workflow, requestParts } = request;
  return [`${JSON.stringify({ kind: 'step', workflow, id }).slice(0, -1)},"request":`, ...requestParts, '}'];
}

export class WorkerLink {
  readonly connectionId: string;
  readonly instanceId: string;
  readonly profile: WorkerProfile;
  readonly connectedAt: number;
  /** Name of the error of the last failed request; null if none has failed. */
  lastError: string | null = null;
  private readonly options: WorkerLinkOptions;
  private readonly workflows: ReadonlySet<string>;
  private readonly exchanges = new Map<number, Exchange>();
  private readonly unexpectedFrames = new UnexpectedFrames();
  private readonly readingRate: ReadingRate;
  private cancelUnreadTimer: (() => void) | null = null;
  /** The largest `sentThrough` of the requests that were given up. */
  private givenUpThrough = 0;
  private pendingPings = 0;
  private lastId = 0;
  /** Id up to which all work has started. */
  private startedThrough = 0;
  private outgoingFrames: OutgoingFrame[] = [];
  private isFlushScheduled = false;
  private readonly silence: InactivityTracker;
  private lastSentAt: number;
  private cancelHeartbeat: () => void;
  /** Time when the deadlines are checked next. One timer is enough for all requests, because most of them end long before. */
  private nextDeadlineCheckAt = Number.POSITIVE_INFINITY;
  private cancelDeadlines = noop;
  private isWorkerDraining = false;
  private isServerDraining = false;
  private isClosed = false;

  constructor(options: WorkerLinkOptions) {
    this.options = options;
    const { connectionId, instanceId, profile, connectedAt, elapsedClock, heartbeatMs } = options;
    this.connectionId = connectionId;
    this.instanceId = instanceId;
    this.profile = profile;
    this.workflows = new Set(profile.workflows);
    this.connectedAt = connectedAt;
    const now = elapsedClock.now();
    this.lastSentAt = now;
    this.silence = new InactivityTracker(now, MISSED_HEARTBEATS * heartbeatMs);
    this.readingRate = new ReadingRate(now, MISSED_HEARTBEATS * heartbeatMs);
    this.cancelHeartbeat = this.scheduleHeartbeat();
  }

  get inFlight(): number {
    return this.exchanges.size;
  }
  /** Whether the connection accepts new work. */
  get isOpen(): boolean {
    return !this.isClosed && !this.isWorkerDraining && !this.isServerDraining;
  }
  get isDraining(): boolean {
    return this.isWorkerDraining || this.isServerDraining;
  }
  get freeSlots(): number {
    return this.isOpen && !this.isCongested ? Math.max(0, this.profile.maxConcurrency - this.exchanges.size) : 0;
  }
  serves(workflow: string): boolean {
    return this.workflows.has(workflow);
  }

  /** Sends a frame that expects no reply. */
  sendFrame(frame: Exclude<ServiceFrame, { readonly kind: WorkerRequest['kind'] }>): void {
    this.send({ text: JSON.stringify(frame), exchange: null });
  }

  /** Sends a request. Never rejects. */
  exchange(request: WorkerRequest, { timeoutMs, signal, onSent, outcomeRecorded }: ExchangeOptions): Promise<ExchangeOutcome> {
    if (signal.aborted) return Promise.resolve({ kind: 'aborted' });
    if (this.isClosed) return Promise.resolve({ kind: 'lost', started: false });
    const { elapsedClock } = this.options;
    const id = ++this.lastId;
    return new Promise((resolve) => {
      const cancel = (outcome: ExchangeOutcome) => {
        if (exchange.onSent) this.outgoingFrames = this.outgoingFrames.filter((frame) => frame.exchange !== exchange);
        else {
          this.sendFrame({ kind: 'cancel', id });
          this.unexpectedFrames.expectLate(id);
          this.givenUpThrough = Math.max(this.givenUpThrough, exchange.sentThrough);
          if (!this.cancelUnreadTimer) this.watchUnread();
        }
        exchange.finish(outcome);
      };
      const onAborted = () => cancel({ kind: 'aborted' });
      const exchange: Exchange = {
        outcomeRecorded,
        deadline: elapsedClock.now() + timeoutMs,
        onSent: onSent ?? noop,
        sentThrough: 0,
        cancel,
        finish: (outcome) => {
          this.exchanges.delete(id);
          signal.removeEventListener('abort', onAborted);
          resolve(outcome);
          if (this.isClosed) return;
          this.options.onSlotsChanged(this);
          this.closeIfDrained();
        },
      };
      this.exchanges.set(id, exchange);
      this.checkDeadlinesAt(exchange.deadline);
      signal.addEventListener('abort', onAborted);
      this.send({ text: textOf(request, id), exchange });
    });
  }

  /** Handles a message of the worker. `onRecorded` is called when all replies in it are recorded or dropped. */
  receive(text: string, onRecorded?: () => void): void {
    const recordedPromises = onRecorded ? new Set<Promise<void>>() : null;
    this.receiveAll(text, recordedPromises);
    if (onRecorded) void Promise.all(recordedPromises ?? []).then(onRecorded);
  }

  /** Called when bytes have arrived, before the message that they belong to. */
  onBytes(bytes: number): void {
    this.silence.addBytes(bytes);
  }

  /** Counts a message that the server did not request, and closes the connection if there are too many. */
  countUnexpected(bytes: number): void {
    if (!this.isClosed && !this.unexpectedFrames.allow(bytes))
      this.close(CLOSE_CODES.policy, 'the worker sent too many frames that the server did not request');
  }

  /** Called when the transport has sent all pending bytes. */
  onTransportDrained(): void {
    if (!this.isClosed) this.options.onSlotsChanged(this);
  }

  /** Sends no more work. The connection ends when the work in flight is done. */
  drain(): void {
    if (this.isClosed || this.isServerDraining) return;
    this.isServerDraining = true;
    this.sendFrame({ kind: 'drain' });
    this.options.onSlotsChanged(this);
    this.closeIfDrained();
  }

  /** Ends the connection. Work in flight is lost. */
  close(code: number, reason: string): void {
    if (this.isClosed) return;
    // A worker must not start work whose reply would be lost.
    this.outgoingFrames = this.outgoingFrames.filter(({ exchange }) => exchange === null);
    this.flush();
    this.options.socket.close(code, reason.slice(0, MAX_REASON_LENGTH));
    this.endWith(reason);
  }

  /** Sends no more work, because the worker drains or the transport has ended. Messages that have arrived are still handled. */
  stopWork(): void {
    if (this.isClosed || this.isWorkerDraining) return;
    this.isWorkerDraining = true;
    this.options.onSlotsChanged(this);
  }

  /** Called when the transport has ended the connection. */
  end(closeCode?: number): void {
    this.endWith('the connection was closed', closeCode);
  }

  private endWith(reason: string, closeCode?: number): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.cancelHeartbeat();
    this.cancelUnreadTimer?.();
    this.cancelDeadlines();
    for (const [id, { finish }] of [...this.exchanges]) finish({ kind: 'lost', started: id <= this.startedThrough });
    this.options.onEnded(this, reason, closeCode);
  }

  private receiveAll(text: string, recordedPromises: Set<Promise<void>> | null): void {
    if (this.isClosed) return;
    this.silence.end(this.options.elapsedClock.now());
    const frames = readFrames(text);
    if (typeof frames === 'string') {
      this.close(CLOSE_CODES.policy, frames);
      return;
    }
    const bytes = text.length / frames.length;
    for (const frame of frames) if (!this.isClosed && !this.handleFrame(frame, recordedPromises)) this.countUnexpected(bytes);
    this.closeIfDrained();
  }

  /** Returns whether the server expected the frame. */
  private handleFrame(frame: ReceivedFrame, recordedPromises: Set<Promise<void>> | null): boolean {
    switch (frame.kind) {
      case 'answer':
        return this.finish(frame.id, { kind: 'replied', reply: frame.reply, bytes: frame.bytes }, recordedPromises);
      case 'noticed':
        return this.finish(frame.id, { kind: 'noticed', outcome: frame.outcome }, recordedPromises);
      case 'too-long':
        return this.finish(frame.id, { kind: 'too-long', bytes: frame.bytes }, recordedPromises);
      case 'received': {
        const previousId = this.startedThrough;
        this.startedThrough = Math.max(previousId, Math.min(frame.through, this.lastId));
        return this.startedThrough > previousId;
      }
      case 'drain':
        if (this.isWorkerDraining) return false;
        this.stopWork();
        return true;
      case 'pong':
        if (this.pendingPings === 0) return false;
        this.pendingPings--;
        return true;
      case 'unknown':
        return false;
    }
  }

  /** Ends the exchange of a reply. Returns false if the server does not wait for it. */
  private finish(id: number, outcome: ExchangeOutcome, recordedPromises: Set<Promise<void>> | null): boolean {
    this.startedThrough = Math.max(this.startedThrough, Math.min(id, this.lastId));
    const exchange = this.exchanges.get(id);
    if (!exchange) return this.unexpectedFrames.removeLate(id);
    if (exchange.outcomeRecorded) recordedPromises?.add(exchange.outcomeRecorded);
    exchange.finish(outcome);
    return true;
  }

  /** Whether the worker reads too slowly to get another request. */
  private get isCongested(): boolean {
    return this.unsentBytes > LIMITS.maxUnsentWorkerBytes;
  }
  private get unsentBytes(): number {
    return this.options.socket.unsentBytes?.() ?? 0;
  }
  private get readLength(): number {
    return this.readingRate.readLengthOf(this.unsentBytes);
  }

  /**
   * Closes the connection if the worker reads too slowly until it has read the requests that were given up. Such requests use
   * memory, but no slot.
   */
  private watchUnread(): void {
    const isUnread = (): boolean => this.isCongested && this.readLength < this.givenUpThrough;
    if (this.isClosed || !isUnread()) return;
    const { elapsedClock } = this.options;
    const { readLength } = this;
    this.cancelUnreadTimer = elapsedClock.setTimer(elapsedClock.now() + LIMITS.unreadRequestTimeoutMs, () => {
      this.cancelUnreadTimer = null;
      if (isUnread() && this.readLength - readLength < MIN_READ_LENGTH) this.close(CLOSE_CODES.policy, READS_TOO_SLOWLY);
      else this.watchUnread();
    });
  }

  /** Closes the connection if the server drains it and no work is in flight. A draining worker closes the connection itself. */
  private closeIfDrained(): void {
    if (this.isServerDraining && this.exchanges.size === 0) this.close(CLOSE_CODES.goingAway, 'the server is stopping');
  }

  private send(frame: OutgoingFrame): void {
    if (this.isClosed) return;
    this.outgoingFrames.push(frame);
    if (this.isFlushScheduled) return;
    this.isFlushScheduled = true;
    this.options.elapsedClock.endOfTurn(() => {
      this.isFlushScheduled = false;
      this.flush();
    });
  }

  private flush(): void {
    const { outgoingFrames } = this;
    if (outgoingFrames.length === 0 || this.isClosed) return;
    this.outgoingFrames = [];
    this.readingRate.addSent(writeFrames(this.options.socket, outgoingFrames));
    this.lastSentAt = this.options.elapsedClock.now();
    for (const { exchange } of outgoingFrames) {
      const onSent = exchange?.onSent;
      if (!exchange || !onSent) continue;
      exchange.onSent = null;
      exchange.sentThrough = this.readingRate.sentLength;
      onSent();
    }
  }

  private checkDeadlinesAt(time: number): void {
    if (time >= this.nextDeadlineCheckAt || this.isClosed) return;
    this.cancelDeadlines();
    this.nextDeadlineCheckAt = time;
    this.cancelDeadlines = this.options.elapsedClock.setTimer(time, () => {
      this.nextDeadlineCheckAt = Number.POSITIVE_INFINITY;
      const now = this.options.elapsedClock.now();
      for (const { deadline, cancel } of [...this.exchanges.values()]) {
        if (deadline <= now) cancel({ kind: 'timed-out' });
        else this.checkDeadlinesAt(deadline);
      }
    });
  }

  private scheduleHeartbeat(): () => void {
    const { elapsedClock, heartbeatMs } = this.options;
    const dueAt = elapsedClock.now() + heartbeatMs;
    return elapsedClock.setTimer(dueAt, () => {
      const now = elapsedClock.now();
      // After a blocked event loop, this timer runs before what the worker sent and read in the meantime is noticed.
      const isLate = now - dueAt > heartbeatMs;
      this.unexpectedFrames.restore();
      if (!isLate && !this.readingRate.isFastEnough(now, this.unsentBytes)) {
        this.close(CLOSE_CODES.policy, READS_TOO_SLOWLY);
        return;
      }
      // The frames of the worker may be waiting to be read.
      if (this.options.socket.isPaused?.()) this.silence.end(now);
      if (!isLate && this.silence.isTooLong(now)) {
        this.close(CLOSE_CODES.policy, 'the worker did not send anything for too long');
        return;
      }
      if (now - this.lastSentAt >= heartbeatMs || this.silence.durationMs(now) >= heartbeatMs) {
        this.pendingPings++;
        this.sendFrame({ kind: 'ping' });
      }
      this.cancelHeartbeat = this.scheduleHeartbeat();
    });
  }
}
