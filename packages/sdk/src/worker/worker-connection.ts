/** One connection of a worker to one node of the server, from the handshake until it is closed. */
import type { HelloFrame, ServiceFrame, WorkerFrame } from './frames.js';
import { MISSED_HEARTBEATS } from './frames.js';
import type { WorkerTime } from './worker-time.js';

/** The part of the standard WebSocket that a connection uses. */
export interface SocketLike {
  readonly readyState: number;
  binaryType: string;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: string, listener: (event: { readonly data?: unknown; readonly reason?: string }) => void): void;
}

/** Constructor of a socket, such as the global WebSocket. */
export type SocketConstructor = new (url: string) => SocketLike;

type Welcome = Extract<ServiceFrame, { kind: 'welcome' }>;
type Rejected = Extract<ServiceFrame, { kind: 'rejected' }>;
/** A frame that the worker answers. */
export type Work = Extract<ServiceFrame, { kind: 'step' | 'check' | 'notice' }>;
/** The answer to a Work frame. */
export type WorkReply = Extract<WorkerFrame, { kind: 'answer' | 'noticed' }>;

/** Why a connection has ended. */
export interface ConnectionEnd {
  /** Message for display. */
  readonly message: string;
  /** Set if the server rejected the worker. */
  readonly rejection?: Rejected;
  /** Whether the server had accepted the worker. */
  readonly wasConnected: boolean;
}

/** Functions that a connection calls. */
export interface ConnectionEvents {
  /** Performs work. Never rejects. `isAbandoned` returns true once the server no longer waits for the answer. */
  readonly perform: (work: Work, isAbandoned: () => boolean) => Promise<WorkReply>;
  readonly connected: (welcome: Welcome) => void;
  /** Called when the nodes of the installation have changed. */
  readonly nodes: (frame: Extract<ServiceFrame, { kind: 'nodes' }>) => void;
  /** Called when the server is stopping. */
  readonly serviceDrains: () => void;
  /** Called once, when the connection has ended. */
  readonly ended: (end: ConnectionEnd) => void;
}

const OPEN = 1;
const CLOSED = 3;
const HELLO_TIMEOUT_MS = 10_000;
/** Frames are joined until a message has this length. */
const MESSAGE_LENGTH = 1024 * 1024;
const NORMAL_CLOSURE = 1000;
/** Replies are pure JSON, so their text is at most this many bytes per character in UTF-8. */
const MAX_BYTES_PER_CHARACTER = 3;

const isFrame = (value: unknown): value is ServiceFrame =>
  typeof value === 'object' && value !== null && 'kind' in value && typeof value.kind === 'string';

/** Reads a message of the server; null if it is malformed. Frames of an unknown kind are kept and ignored later. */
function framesOf(data: unknown): readonly ServiceFrame[] | null {
  if (typeof data !== 'string') return null;
  try {
    const frames: unknown = JSON.parse(data);
    return Array.isArray(frames) && frames.every(isFrame) ? frames : null;
  } catch {
    return null;
  }
}

/** A socket whose constructor failed: it closes immediately. */
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
  addEventListener(type: string, listener: (event: { readonly reason?: string }) => void): void {
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

export class WorkerConnection {
  private readonly socket: SocketLike;
  private readonly events: ConnectionEvents;
  private welcome: Welcome | null = null;
  private rejection: Rejected | null = null;
  /** Ids of the requests in progress. */
  private readonly open = new Set<number>();
  private outgoing: WorkerFrame[] = [];
  private flushing = false;
  private received = 0;
  private acknowledged = 0;
  private draining: Promise<void> | null = null;
  private ended = false;
  private readonly time: WorkerTime;
  private lastFrameAt: number;
  private cancelSilence: () => void;
  private whenIdle: (() => void) | null = null;

  constructor(Socket: SocketConstructor, url: string, hello: HelloFrame, events: ConnectionEvents, time: WorkerTime) {
    this.events = events;
    this.time = time;
    this.lastFrameAt = time.now();
    this.cancelSilence = this.checkSilenceAfter(HELLO_TIMEOUT_MS);
    this.socket = openSocket(Socket, url, time);
    this.socket.addEventListener('open', () => {
      if (!this.ended) this.socket.send(JSON.stringify([hello]));
    });
    this.socket.addEventListener('message', ({ data }) => this.receive(data));
    this.socket.addEventListener('error', () => this.end('the connection could not be opened or was interrupted'));
    this.socket.addEventListener('close', ({ reason }) => this.end(reason || 'the connection was closed'));
  }

  /** Number of requests in progress. */
  get inFlight(): number {
    return this.open.size;
  }

  /** Accepts no more work, and resolves when the work in progress has been answered, or after the time. */
  drain(graceMs: number): Promise<void> {
    if (this.ended) return Promise.resolve();
    this.draining ??= this.finishWork(graceMs);
    return this.draining;
  }

  private async finishWork(graceMs: number): Promise<void> {
    if (this.welcome) this.send({ kind: 'drain' });
    if (this.open.size > 0) {
      let cancel = (): void => {};
      await new Promise<void>((resolve) => {
        this.whenIdle = resolve;
        cancel = this.time.after(graceMs, resolve);
      });
      cancel();
    }
    this.close('the worker stops');
  }

  /** Closes the connection. Frames that were sent still arrive. */
  close(message: string): void {
    this.flush();
    this.end(message);
  }

  private receive(data: unknown): void {
    if (this.ended) return;
    const frames = framesOf(data);
    if (!frames) {
      this.end('the server sent a malformed message');
      return;
    }
    this.lastFrameAt = this.time.now();
    for (const frame of frames) if (!this.ended) this.handleFrame(frame);
  }

  private handleFrame(frame: ServiceFrame): void {
    switch (frame.kind) {
      case 'welcome':
        if (this.welcome) return;
        this.welcome = frame;
        this.cancelSilence();
        this.cancelSilence = this.checkSilenceAfter(MISSED_HEARTBEATS * frame.heartbeatMs);
        this.events.connected(frame);
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
      case 'nodes':
        this.events.nodes(frame);
        return;
      case 'drain':
        this.events.serviceDrains();
        return;
      default:
        // A newer service sends it only as additional information.
        frame satisfies never;
    }
  }

  private perform(work: Work): void {
    this.open.add(work.id);
    this.received = Math.max(this.received, work.id);
    this.flushSoon();
    const isAbandoned = (): boolean => !this.open.has(work.id);
    void this.events.perform(work, isAbandoned).then((response) => {
      if (isAbandoned()) return;
      this.send(response);
      this.finish(work.id);
    });
  }

  private finish(id: number): void {
    this.open.delete(id);
    if (this.open.size === 0) this.idle();
  }

  private idle(): void {
    this.whenIdle?.();
    this.whenIdle = null;
  }

  private send(frame: WorkerFrame): void {
    if (this.ended) return;
    this.outgoing.push(frame);
    // An answer also says that all work up to it has started.
    if ('id' in frame) this.acknowledged = Math.max(this.acknowledged, frame.id);
    // With other work in progress, more answers may follow in this turn.
    if (this.open.size > 1) this.flushSoon();
    else this.flush();
  }

  private flushSoon(): void {
    if (this.flushing) return;
    this.flushing = true;
    this.time.endOfTurn(() => {
      this.flushing = false;
      this.flush();
    });
  }

  private flush(): void {
    if (this.socket.readyState !== OPEN || this.ended) return;
    if (this.received > this.acknowledged && this.open.size > 0) this.outgoing.push({ kind: 'received', through: this.received });
    this.acknowledged = this.received;
    if (this.outgoing.length === 0) return;
    const frames = this.outgoing.map((frame) => this.textOf(frame));
    this.outgoing = [];
    let message = '';
    for (const frame of frames) {
      if (message.length + frame.length > MESSAGE_LENGTH && message !== '') {
        this.socket.send(`[${message}]`);
        message = '';
      }
      message += message === '' ? frame : `,${frame}`;
    }
    this.socket.send(`[${message}]`);
  }

  /** Returns the JSON of a frame. An answer that the server would not accept is replaced, because it ends the connection. */
  private textOf(frame: WorkerFrame): string {
    const text = JSON.stringify(frame);
    const max = this.welcome?.maxFrameBytes ?? Number.POSITIVE_INFINITY;
    if (!('id' in frame) || text.length * MAX_BYTES_PER_CHARACTER <= max) return text;
    const bytes = new TextEncoder().encode(text).length;
    return bytes <= max ? text : JSON.stringify({ kind: 'too-long', id: frame.id, bytes } satisfies WorkerFrame);
  }

  /** Ends the connection if no frame arrives within the time. One timer is enough, however many frames arrive. */
  private checkSilenceAfter(limitMs: number, delayMs = limitMs): () => void {
    return this.time.after(delayMs, () => {
      const silentMs = this.time.now() - this.lastFrameAt;
      if (silentMs >= limitMs) this.end('the server did not send anything for too long');
      else this.cancelSilence = this.checkSilenceAfter(limitMs, limitMs - silentMs);
    });
  }

  private end(message: string): void {
    if (this.ended) return;
    this.ended = true;
    this.cancelSilence();
    this.open.clear();
    this.idle();
    this.socket.close(NORMAL_CLOSURE);
    const { rejection } = this;
    this.events.ended({ message, wasConnected: this.welcome !== null, ...(rejection ? { rejection } : {}) });
  }
}
