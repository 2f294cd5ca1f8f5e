/** One connection of a worker to one node of the server, from the handshake until it is closed. */
import { bytesOver } from '../encoded-body.js';
import type { HelloFrame, ServiceFrame, WorkerFrame } from './frames.js';
import { MISSED_HEARTBEATS } from './frames.js';
import type { WorkerTime } from './worker-time.js';

/** The part of the standard WebSocket that a connection uses. */
export interface SocketLike {
  readonly readyState: number;
  binaryType: string;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: string, listener: (event: SocketEvent) => void): void;
}

/** The part of the events of a socket that a connection reads. */
interface SocketEvent {
  readonly data?: unknown;
  readonly reason?: string;
  /** Close code. */
  readonly code?: number;
  readonly message?: string;
  readonly error?: unknown;
}

/** Constructor of a socket, such as the global WebSocket. */
export type SocketConstructor = new (url: string) => SocketLike;

type Welcome = Extract<ServiceFrame, { kind: 'welcome' }>;
type Rejection = Extract<ServiceFrame, { kind: 'rejected' }>;
/** A frame that the worker answers. */
export type Work = Extract<ServiceFrame, { kind: 'step' | 'check' | 'notice' }>;
/** The answer to a Work frame. */
export type WorkReply = Extract<WorkerFrame, { kind: 'answer' | 'noticed' }>;

/** Why a connection has ended. */
export interface ConnectionEnd {
  /** Message for display. */
  readonly message: string;
  /** Set if the server rejected the worker. */
  readonly rejection?: Rejection;
  /** Whether the server had accepted the worker. */
  readonly wasConnected: boolean;
}

/** Functions that a connection calls. */
export interface ConnectionEvents {
  /** Performs work. Never rejects. `isAbandoned` returns true once the server no longer waits for the answer. */
  readonly perform: (work: Work, isAbandoned: () => boolean) => Promise<WorkReply>;
  readonly onConnected: (welcome: Welcome) => void;
  /** Called when the nodes of the installation have changed. */
  readonly onNodes: (frame: Extract<ServiceFrame, { kind: 'nodes' }>) => void;
  /** Called when the server is stopping. */
  readonly onServerDrain: () => void;
  /** Called once, when the connection has ended. */
  readonly onEnd: (end: ConnectionEnd) => void;
}

const OPEN = 1;
const CLOSED = 3;
const HELLO_TIMEOUT_MS = 10_000;
/** Maximum length of a message that joins several frames, in characters. */
const MAX_JOINED_LENGTH = 1024 * 1024;
const NORMAL_CLOSURE = 1000;
const STOPPING = 'the worker is stopping';

const isFrame = (value: unknown): value is ServiceFrame =>
  typeof value === 'object' && value !== null && 'kind' in value && typeof value.kind === 'string';

/** Reads a message of the server; null if it is malformed. Frames of an unknown kind are kept and ignored later. */
function parseFrames(data: unknown): readonly ServiceFrame[] | null {
  if (typeof data !== 'string') return null;
  try {
    const frames: unknown = JSON.parse(data);
    return Array.isArray(frames) && frames.every(isFrame) ? frames : null;
  } catch {
    return null;
  }
}

/** Replaces a socket whose constructor threw an error. It closes immediately. */
class FailedSocket implements SocketLike {
  readonly readyState = CLOSED;
  binaryType = 'blob';
  private readonly reason: string;
  private readonly time: WorkerTime;

  constructor(reason: string, time: WorkerTime) {
    this.reason = reason;
    this.time = time;
  }

  send(): void {}
  close(): void {}
  addEventListener(type: string, listener: (event: SocketEvent) => void): void {
    const { reason } = this;
    if (type === 'close') this.time.endOfTurn(() => listener({ reason }));
  }
}

function openSocket(Socket: SocketConstructor, url: string, time: WorkerTime): SocketLike {
  try {
    return new Socket(url);
  } catch (error) {
    return new FailedSocket(error instanceof Error ? error.message : String(error), time);
  }
}

const inParentheses = (detail: string | undefined): string => (detail ? ` (${detail})` : '');

/** Returns the message of an error event. Not all runtimes set it. */
const errorMessageOf = ({ message, error }: SocketEvent): string | undefined =>
  message || (error instanceof Error ? error.message : undefined);

export class WorkerConnection {
  private readonly socket: SocketLike;
  private readonly events: ConnectionEvents;
  private welcome: Welcome | null = null;
  private rejection: Rejection | null = null;
  /** Ids of the requests in progress. */
  private readonly openRequestIds = new Set<number>();
  private outgoingFrames: WorkerFrame[] = [];
  private isFlushPlanned = false;
  private lastReceivedId = 0;
  private lastAcknowledgedId = 0;
  private isDraining = false;
  /** Whether work may still arrive that the server sent before it read the `drain` frame. */
  private isLateWorkExpected = false;
  private cancelDrainTimers = (): void => {};
  private hasEnded = false;
  /** Resolves when the connection has ended. */
  private readonly ended: Promise<void>;
  private resolveEnded = (): void => {};
  private readonly time: WorkerTime;
  private lastFrameAt: number;
  /** Additional time for the announced message, ms; 0 if none is announced. */
  private transferMs = 0;
  private cancelSilenceCheck: () => void;

  constructor(Socket: SocketConstructor, url: string, hello: HelloFrame, events: ConnectionEvents, time: WorkerTime) {
    this.events = events;
    this.time = time;
    this.ended = new Promise((resolve) => {
      this.resolveEnded = resolve;
    });
    this.lastFrameAt = time.now();
    this.cancelSilenceCheck = this.watchSilence(HELLO_TIMEOUT_MS, HELLO_TIMEOUT_MS);
    this.socket = openSocket(Socket, url, time);
    this.socket.addEventListener('open', () => {
      if (!this.hasEnded) this.socket.send(JSON.stringify([hello]));
    });
    this.socket.addEventListener('message', ({ data }) => this.receive(data));
    this.socket.addEventListener('error', (event) =>
      this.end(`the connection could not be opened or was interrupted${inParentheses(errorMessageOf(event))}`),
    );
    this.socket.addEventListener('close', ({ reason, code }) =>
      this.end(`${reason || 'the connection was closed'}${inParentheses(code === undefined ? undefined : `code ${code}`)}`),
    );
  }

  /** Number of requests in progress. */
  get inFlight(): number {
    return this.openRequestIds.size;
  }

  /**
   * Accepts no more work, and resolves when the work in progress has been answered, or after `graceMs`. Work that the server sent
   * before it read this is answered as well if it arrives within `lateWorkMs`. A later call replaces the times of an earlier one.
   */
  drain(graceMs: number, lateWorkMs = 0): Promise<void> {
    if (this.hasEnded) return this.ended;
    if (!this.isDraining && this.welcome) this.send({ kind: 'drain' });
    this.isDraining = true;
    this.isLateWorkExpected = lateWorkMs > 0;
    this.cancelDrainTimers();
    const cancelGrace = this.time.after(graceMs, () => this.close(STOPPING));
    const cancelLateWork = this.time.after(lateWorkMs, () => {
      this.isLateWorkExpected = false;
      this.closeIfDrained();
    });
    this.cancelDrainTimers = () => {
      cancelGrace();
      cancelLateWork();
    };
    this.closeIfDrained();
    return this.ended;
  }

  private closeIfDrained(): void {
    if (this.isDraining && !this.isLateWorkExpected && this.openRequestIds.size === 0) this.close(STOPPING);
  }

  /** Sends the remaining frames and closes the connection. */
  close(message: string): void {
    this.flush();
    this.end(message);
  }

  private receive(data: unknown): void {
    if (this.hasEnded) return;
    const frames = parseFrames(data);
    if (!frames) {
      this.end('the server sent a malformed message');
      return;
    }
    this.lastFrameAt = this.time.now();
    this.transferMs = 0;
    for (const frame of frames) if (!this.hasEnded) this.handleFrame(frame);
  }

  private handleFrame(frame: ServiceFrame): void {
    switch (frame.kind) {
      case 'welcome':
        if (this.welcome) return;
        this.welcome = frame;
        this.cancelSilenceCheck();
        this.cancelSilenceCheck = this.watchSilence(MISSED_HEARTBEATS * frame.heartbeatMs, frame.heartbeatMs);
        this.events.onConnected(frame);
        return;
      case 'rejected':
        this.rejection = frame;
        this.end(frame.message);
        return;
      case 'step':
      case 'check':
      case 'notice':
        this.perform(frame);
        return;
      case 'cancel':
        this.finish(frame.id);
        return;
      case 'ping':
        this.send({ kind: 'pong' });
        return;
      case 'incoming':
        this.transferMs = frame.transferMs;
        return;
      case 'nodes':
        this.events.onNodes(frame);
        return;
      case 'drain':
        this.events.onServerDrain();
        return;
      default:
        // A frame of an unknown kind is only additional information from a newer server.
        frame satisfies never;
    }
  }

  private perform(work: Work): void {
    this.openRequestIds.add(work.id);
    this.lastReceivedId = Math.max(this.lastReceivedId, work.id);
    this.flushSoon();
    const isAbandoned = (): boolean => !this.openRequestIds.has(work.id);
    void this.events.perform(work, isAbandoned).then((reply) => {
      if (isAbandoned()) return;
      this.send(reply);
      this.finish(work.id);
    });
  }

  private finish(id: number): void {
    this.openRequestIds.delete(id);
    this.closeIfDrained();
  }

  private send(frame: WorkerFrame): void {
    if (this.hasEnded) return;
    this.outgoingFrames.push(frame);
    // An answer also acknowledges that all work up to its id has started.
    if ('id' in frame) this.lastAcknowledgedId = Math.max(this.lastAcknowledgedId, frame.id);
    // With other work in progress, more answers may follow in this turn.
    if (this.openRequestIds.size > 1) this.flushSoon();
    else this.flush();
  }

  private flushSoon(): void {
    if (this.isFlushPlanned) return;
    this.isFlushPlanned = true;
    this.time.endOfTurn(() => {
      this.isFlushPlanned = false;
      this.flush();
    });
  }

  private flush(): void {
    if (this.socket.readyState !== OPEN || this.hasEnded) return;
    if (this.lastReceivedId > this.lastAcknowledgedId && this.openRequestIds.size > 0)
      this.outgoingFrames.push({ kind: 'received', through: this.lastReceivedId });
    this.lastAcknowledgedId = this.lastReceivedId;
    if (this.outgoingFrames.length === 0) return;
    const frameTexts = this.outgoingFrames.map((frame) => this.frameText(frame));
    this.outgoingFrames = [];
    let message = '';
    for (const text of frameTexts) {
      if (message.length + text.length > MAX_JOINED_LENGTH && message !== '') {
        this.socket.send(`[${message}]`);
        message = '';
      }
      message += message === '' ? text : `,${text}`;
    }
    this.socket.send(`[${message}]`);
  }

  /** Returns the JSON of a frame. Replaces an answer that is too long, because the server would close the connection. */
  private frameText(frame: WorkerFrame): string {
    const text = JSON.stringify(frame);
    if (!('id' in frame)) return text;
    const bytes = bytesOver(this.welcome?.maxFrameBytes ?? Number.POSITIVE_INFINITY, text);
    return bytes === null ? text : JSON.stringify({ kind: 'too-long', id: frame.id, bytes } satisfies WorkerFrame);
  }

  /**
   * Ends the connection if no frame arrives within `limitMs`, plus the time for an announced message. One timer is enough, however
   * many frames arrive.
   */
  private watchSilence(limitMs: number, intervalMs: number): () => void {
    const delayMs = Math.min(intervalMs, this.remainingSilenceMs(limitMs));
    const dueAt = this.time.now() + delayMs;
    return this.time.after(delayMs, () => {
      const now = this.time.now();
      // After a blocked event loop, this timer runs before the messages that have arrived in the meantime.
      if (now - dueAt > intervalMs) this.lastFrameAt = Math.max(this.lastFrameAt, now - limitMs + intervalMs);
      if (this.remainingSilenceMs(limitMs) <= 0) {
        this.end('the server sent nothing for too long');
        return;
      }
      // The pings of the server wait behind the announced message.
      if (this.transferMs > 0) this.send({ kind: 'pong' });
      this.cancelSilenceCheck = this.watchSilence(limitMs, intervalMs);
    });
  }

  private remainingSilenceMs(limitMs: number): number {
    return this.lastFrameAt + limitMs + this.transferMs - this.time.now();
  }

  private end(message: string): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.cancelSilenceCheck();
    this.cancelDrainTimers();
    this.openRequestIds.clear();
    this.socket.close(NORMAL_CLOSURE);
    this.resolveEnded();
    const { rejection } = this;
    this.events.onEnd({ message, wasConnected: this.welcome !== null, ...(rejection ? { rejection } : {}) });
  }
}
