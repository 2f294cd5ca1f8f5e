/** One connection of a worker to one node of the service, from the handshake until it is closed. */
import type { HelloFrame, ServiceFrame, WorkerFrame } from './frames.js';
import { MISSED_HEARTBEATS } from './frames.js';

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
export type WorkAnswer = Extract<WorkerFrame, { kind: 'answer' | 'noticed' }>;

/** Why a connection has ended. */
export interface ConnectionEnd {
  /** For people. */
  readonly message: string;
  /** Set if the service rejected the worker. */
  readonly rejection?: Rejected;
  /** Whether the service had accepted the worker. */
  readonly wasConnected: boolean;
}

/** Calls of a connection. */
export interface ConnectionEvents {
  /** Performs work. Never rejects. */
  readonly perform: (work: Work) => Promise<WorkAnswer>;
  readonly connected: (welcome: Welcome) => void;
  /** The nodes of the service have changed. */
  readonly nodes: (frame: Extract<ServiceFrame, { kind: 'nodes' }>) => void;
  /** The service stops. */
  readonly serviceDrains: () => void;
  /** Called once. */
  readonly ended: (end: ConnectionEnd) => void;
}

const OPEN = 1;
const HELLO_TIMEOUT_MS = 10_000;
/** Frames are joined until a message has this length. */
const MESSAGE_LENGTH = 1024 * 1024;
const NORMAL_CLOSURE = 1000;
/** Replies are pure JSON, so their text is at most this many bytes per character in UTF-8. */
const MAX_BYTES_PER_CHARACTER = 3;

const soon = typeof setImmediate === 'function' ? setImmediate : (run: () => void) => setTimeout(run, 0);

const isFrame = (value: unknown): value is ServiceFrame =>
  typeof value === 'object' && value !== null && 'kind' in value && typeof value.kind === 'string';

/** Reads a message of the service; null if it is malformed. Frames of an unknown kind are kept and ignored later. */
function framesOf(data: unknown): readonly ServiceFrame[] | null {
  if (typeof data !== 'string') return null;
  try {
    const frames: unknown = JSON.parse(data);
    return Array.isArray(frames) && frames.every(isFrame) ? frames : null;
  } catch {
    return null;
  }
}

export class WorkerConnection {
  private readonly socket: SocketLike;
  private readonly events: ConnectionEvents;
  private welcome: Welcome | null = null;
  private rejection: Rejected | null = null;
  /** Ids of work in progress. */
  private readonly open = new Set<number>();
  private outgoing: WorkerFrame[] = [];
  private flushing = false;
  private received = 0;
  private acknowledged = 0;
  private draining = false;
  private ended = false;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private whenIdle: (() => void) | null = null;

  constructor(Socket: SocketConstructor, url: string, hello: HelloFrame, events: ConnectionEvents) {
    this.events = events;
    this.socket = new Socket(url);
    this.socket.addEventListener('open', () => this.socket.send(JSON.stringify([hello])));
    this.socket.addEventListener('message', ({ data }) => this.receive(data));
    this.socket.addEventListener('error', () => this.end('the connection could not be opened or was interrupted'));
    this.socket.addEventListener('close', ({ reason }) => this.end(reason || 'the connection was closed'));
    this.expectFrameWithin(HELLO_TIMEOUT_MS);
  }

  /** Number of requests in progress. */
  get inFlight(): number {
    return this.open.size;
  }

  /** Accepts no more work, and resolves when the work in progress has been answered, or after the time. */
  async drain(graceMs: number): Promise<void> {
    if (this.ended) return;
    if (!this.draining) {
      this.draining = true;
      if (this.welcome) this.send({ kind: 'drain' });
    }
    if (this.open.size > 0) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      await new Promise<void>((resolve) => {
        this.whenIdle = resolve;
        timer = setTimeout(resolve, graceMs);
      });
      clearTimeout(timer);
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
      this.end('the service sent a malformed message');
      return;
    }
    if (this.welcome) this.expectFrameWithin(MISSED_HEARTBEATS * this.welcome.heartbeatMs);
    for (const frame of frames) this.take(frame);
  }

  private take(frame: ServiceFrame): void {
    switch (frame.kind) {
      case 'welcome':
        this.welcome = frame;
        this.expectFrameWithin(MISSED_HEARTBEATS * frame.heartbeatMs);
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
        this.draining = true;
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
    void this.events.perform(work).then((answer) => {
      // The service no longer waits for it.
      if (!this.open.has(work.id)) return;
      this.send(answer);
      this.finish(work.id);
    });
  }

  private finish(id: number): void {
    this.open.delete(id);
    if (this.open.size > 0) return;
    this.whenIdle?.();
    this.whenIdle = null;
  }

  private send(frame: WorkerFrame): void {
    if (this.ended) return;
    this.outgoing.push(frame);
    // With other work in progress, more answers may follow in this turn.
    if (this.open.size > 1) this.flushSoon();
    else this.flush();
  }

  private flushSoon(): void {
    if (this.flushing) return;
    this.flushing = true;
    soon(() => {
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

  /** Returns the JSON of a frame. An answer that the service would not accept is replaced, because it ends the connection. */
  private textOf(frame: WorkerFrame): string {
    const text = JSON.stringify(frame);
    const max = this.welcome?.maxFrameBytes ?? Number.POSITIVE_INFINITY;
    if (!('id' in frame) || text.length * MAX_BYTES_PER_CHARACTER <= max) return text;
    const bytes = new TextEncoder().encode(text).length;
    return bytes <= max ? text : JSON.stringify({ kind: 'too-long', id: frame.id, bytes } satisfies WorkerFrame);
  }

  private expectFrameWithin(timeMs: number): void {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.end('the service did not send anything for too long'), timeMs);
  }

  private end(message: string): void {
    if (this.ended) return;
    this.ended = true;
    clearTimeout(this.silence);
    this.open.clear();
    this.whenIdle?.();
    this.socket.close(NORMAL_CLOSURE);
    const { rejection } = this;
    this.events.ended({ message, wasConnected: this.welcome !== null, ...(rejection ? { rejection } : {}) });
  }
}
