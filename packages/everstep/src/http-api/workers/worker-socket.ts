/**
 * The WebSocket of an accepted worker. It limits the memory for messages from their first byte until their answers are
 * recorded: reading pauses while the memory is used up. Keeps invariant 35.
 */
import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { LIMITS } from '../../config/limits.js';
import { FREE_REPLY_BYTES, type ReplyBudget, type ReplyBytes } from '../../fairness/reply-budget.js';
import { LONG_BYTES, type WorkSlices } from '../../fairness/work-slices.js';
import { CLOSE, type FrameSocket, type WorkerLink } from '../../worker-connections/worker-link.js';

/** Approximate memory for a chunk, in addition to its bytes. */
const CHUNK_BYTES = 256;

export interface WorkerSocketOptions {
  readonly socket: WebSocket;
  readonly transport: Duplex;
  readonly instanceId: string;
  readonly replies: ReplyBudget;
  readonly slices: Pick<WorkSlices, 'run'>;
}

export function textOf(data: RawData): string {
  if (Buffer.isBuffer(data)) return data.toString('utf8');
  return Array.isArray(data) ? Buffer.concat(data).toString('utf8') : Buffer.from(data).toString('utf8');
}

export class WorkerSocket implements FrameSocket {
  private readonly options: WorkerSocketOptions;
  private link: WorkerLink | null = null;
  /** Bytes since the last message. */
  private received = 0;
  /** Memory of the message that is being received; null while it is short. */
  private bytes: ReplyBytes | null = null;
  /** Memory of messages whose answers are not recorded. */
  private readonly unrecorded = new Set<ReplyBytes>();
  private readonly pauses = new Set<object>();
  private isClosing = false;
  /** Messages that wait for the end of one that is sent in parts, which is first. Empty if none is. */
  private waiting: (readonly string[])[] = [];
  private waitingLength = 0;

  constructor(options: WorkerSocketOptions) {
    this.options = options;
  }

  /** Passes messages to the link until the connection ends. */
  serve(link: WorkerLink): void {
    this.link = link;
    const { socket, transport } = this.options;
    transport.prependListener('data', (chunk: Buffer) => this.count(chunk));
    socket.on('message', (data, isBinary) => this.receive(data, isBinary));
    // Workers use frames for heartbeats.
    socket.on('ping', () => link.unasked(0));
    socket.on('pong', () => link.unasked(0));
    socket.once('close', () => {
      this.bytes?.release();
      for (const bytes of this.unrecorded) bytes.release();
      link.end();
    });
  }

  send(message: string): void {
    const { socket } = this.options;
    if (socket.readyState !== socket.OPEN) return;
    if (this.waiting.length > 0) this.queueParts([message]);
    else socket.send(message);
    this.watchUnsent();
  }

  sendParts(parts: readonly string[]): void {
    this.queueParts(parts);
    this.watchUnsent();
    if (this.waiting.length === 1) void this.sendWaiting();
  }

  private queueParts(parts: readonly string[]): void {
    this.waiting.push(parts);
    this.waitingLength += parts.reduce((sum, { length }) => sum + length, 0);
  }

  /** Sends each part when the one before has left the process. Never rejects. */
  private async sendWaiting(): Promise<void> {
    const { socket } = this.options;
    for (let parts = this.waiting[0]; parts; parts = this.waiting[0]) {
      for (const [index, part] of parts.entries()) {
        if (this.isClosing) return;
        // On a closed connection, the callback gets an error.
        await new Promise<unknown>((resolve) => socket.send(part, { fin: index === parts.length - 1 }, resolve));
        this.waitingLength -= part.length;
      }
      this.waiting.shift();
    }
    this.link?.drained();
  }

  private watchUnsent(): void {
    const { transport } = this.options;
    if (this.unsentBytes() > LIMITS.maxUnsentWorkerBytes && transport.listenerCount('drain', this.onDrain) === 0)
      transport.once('drain', this.onDrain);
  }

  close(code: number, reason: string): void {
    const { socket } = this.options;
    this.isClosing = true;
    this.received = 0;
    // A worker that does not read would not get the close frame either.
    if (this.unsentBytes() > LIMITS.maxUnsentWorkerBytes) socket.terminate();
    else socket.close(code, reason);
  }

  unsentBytes(): number {
    return this.options.socket.bufferedAmount + this.waitingLength;
  }

  isPaused(): boolean {
    return this.pauses.size > 0;
  }

  private readonly onDrain = (): void => this.link?.drained();

  private count(chunk: Buffer): void {
    this.received += chunk.length + CHUNK_BYTES;
    if (this.received <= FREE_REPLY_BYTES) return;
    if (this.isClosing) {
      this.options.socket.terminate();
      return;
    }
    const { replies, instanceId } = this.options;
    const bytes = this.bytes ?? replies.open(instanceId, LIMITS.maxWorkerMessageBytes);
    this.bytes = bytes;
    if (!bytes.canContinue(this.received, null, () => this.resume(bytes))) this.pause(bytes);
  }

  private receive(data: RawData, isBinary: boolean): void {
    const { link, bytes } = this;
    this.received = 0;
    this.bytes = null;
    if (!link || this.isClosing) {
      bytes?.release();
      return;
    }
    if (isBinary) {
      link.close(CLOSE.policy, 'a message is not text');
      bytes?.release();
      return;
    }
    const text = textOf(data);
    if (text.length < LONG_BYTES) link.receive(text, bytes ? this.releaseFunction(bytes) : undefined);
    else this.receiveLong(link, text, bytes);
  }

  private receiveLong(link: WorkerLink, text: string, bytes: ReplyBytes | null): void {
    const { slices, instanceId } = this.options;
    const turn = {};
    this.pause(turn);
    void slices
      .run(instanceId, async () => link.receive(text, bytes ? this.releaseFunction(bytes) : undefined))
      .finally(() => this.resume(turn));
  }

  /** Returns a function that frees the memory of a message. */
  private releaseFunction(bytes: ReplyBytes): () => void {
    this.unrecorded.add(bytes);
    return () => {
      this.unrecorded.delete(bytes);
      bytes.release();
      // It may have been received as a whole although it was not granted.
      this.resume(bytes);
    };
  }

  private pause(reason: object): void {
    this.pauses.add(reason);
    this.options.socket.pause();
  }

  private resume(reason: object): void {
    if (this.pauses.delete(reason) && this.pauses.size === 0) this.options.socket.resume();
  }
}
