/**
 * The WebSocket of an accepted worker. It limits the memory for messages from their first byte until their replies are
 * recorded: reading pauses while the memory is used up. Keeps invariant 35.
 */
import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { LIMITS } from '../../config/limits.js';
import { FREE_REPLY_BYTES, type ReplyBudget, type ReplyBytes } from '../../fairness/reply-budget.js';
import { LONG_BYTES, type WorkSlices } from '../../fairness/work-slices.js';
import type { FrameSocket } from '../../worker-connections/frame-writer.js';
import { CLOSE_CODES, type WorkerLink } from '../../worker-connections/worker-link.js';

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

interface Fragment {
  readonly text: string;
  readonly isLast: boolean;
}

const isHighSurrogate = (codeUnit: number): boolean => (codeUnit & 0xfc00) === 0xd800;

/**
 * Yields a message in fragments of about LONG_BYTES characters, however long its parts are: clients limit the number of
 * fragments, and only complete fragments count as sent.
 */
function* fragmentsOf(parts: readonly string[]): Iterable<Fragment> {
  let text = '';
  for (const part of parts) {
    text += part;
    while (text.length > LONG_BYTES) {
      // Each fragment is encoded separately, so it must not end within a character.
      const end = isHighSurrogate(text.charCodeAt(LONG_BYTES - 1)) ? LONG_BYTES - 1 : LONG_BYTES;
      yield { text: text.slice(0, end), isLast: false };
      text = text.slice(end);
    }
  }
  yield { text, isLast: true };
}

export class WorkerSocket implements FrameSocket {
  private readonly options: WorkerSocketOptions;
  private link: WorkerLink | null = null;
  /** Bytes since the last message. */
  private receivedBytes = 0;
  /** Memory of the message that is being received; null while it is short. */
  private replyBytes: ReplyBytes | null = null;
  /** Memory of messages whose replies are not recorded. */
  private readonly unrecordedReplies = new Set<ReplyBytes>();
  private readonly pauseReasons = new Set<object>();
  private isClosing = false;
  /** Close code of the transport; null until it has ended. */
  private closeCode: number | null = null;
  /** Number of messages that have arrived and wait to be handled. */
  private waitingTexts = 0;
  /** The message that is being sent in parts, then the messages that wait for its end. Empty if none is sent in parts. */
  private queuedMessages: (readonly string[])[] = [];
  private queuedLength = 0;

  constructor(options: WorkerSocketOptions) {
    this.options = options;
  }

  /** Passes messages to the link until the connection ends. */
  serve(link: WorkerLink): void {
    this.link = link;
    const { socket, transport } = this.options;
    transport.prependListener('data', (chunk: Buffer) => this.countBytes(chunk));
    socket.on('message', (data, isBinary) => this.receive(data, isBinary));
    // Workers use frames for heartbeats.
    socket.on('ping', () => link.countUnexpected(0));
    socket.on('pong', () => link.countUnexpected(0));
    socket.once('close', (code) => {
      this.replyBytes?.release();
      for (const replyBytes of this.unrecordedReplies) replyBytes.release();
      this.closeCode = code;
      link.stopWork();
      this.endWhenHandled(link);
    });
  }

  send(message: string): void {
    const { socket } = this.options;
    if (socket.readyState !== socket.OPEN) return;
    // Of a message in one piece, it is not known how much the worker has read.
    if (this.queuedMessages.length > 0 || message.length > LIMITS.maxUnsentWorkerBytes) {
      this.sendParts([message]);
      return;
    }
    socket.send(message);
    this.watchUnsent();
  }

  sendParts(parts: readonly string[]): void {
    this.queueParts(parts);
    this.watchUnsent();
    if (this.queuedMessages.length === 1) void this.sendQueued();
  }

  private queueParts(parts: readonly string[]): void {
    this.queuedMessages.push(parts);
    this.queuedLength += parts.reduce((sum, { length }) => sum + length, 0);
  }

  /** Sends each fragment when the previous one has left the process. Never rejects. */
  private async sendQueued(): Promise<void> {
    const { socket } = this.options;
    for (let parts = this.queuedMessages[0]; parts; parts = this.queuedMessages[0]) {
      for (const { text, isLast } of fragmentsOf(parts)) {
        if (this.isClosing) return;
        this.queuedLength -= text.length;
        // On a closed connection, the callback gets an error.
        await new Promise<unknown>((resolve) => socket.send(text, { fin: isLast }, resolve));
      }
      this.queuedMessages.shift();
    }
    this.link?.onTransportDrained();
  }

  private watchUnsent(): void {
    const { transport } = this.options;
    if (this.unsentBytes() > LIMITS.maxUnsentWorkerBytes && transport.listenerCount('drain', this.onDrain) === 0)
      transport.once('drain', this.onDrain);
  }

  close(code: number, reason: string): void {
    const { socket } = this.options;
    this.isClosing = true;
    this.receivedBytes = 0;
    // A worker that does not read would not get the close frame either.
    if (this.unsentBytes() > LIMITS.maxUnsentWorkerBytes) socket.terminate();
    else socket.close(code, reason);
  }

  unsentBytes(): number {
    return this.options.socket.bufferedAmount + this.queuedLength;
  }

  isPaused(): boolean {
    return this.pauseReasons.size > 0;
  }

  private readonly onDrain = (): void => this.link?.onTransportDrained();

  private countBytes(chunk: Buffer): void {
    this.link?.onBytes(chunk.length);
    this.receivedBytes += chunk.length + CHUNK_BYTES;
    if (this.receivedBytes <= FREE_REPLY_BYTES) return;
    if (this.isClosing) {
      this.options.socket.terminate();
      return;
    }
    const { replies, instanceId } = this.options;
    const replyBytes = this.replyBytes ?? replies.open(instanceId, LIMITS.maxWorkerMessageBytes);
    this.replyBytes = replyBytes;
    if (!replyBytes.canContinue(this.receivedBytes, null, () => this.resume(replyBytes))) this.pause(replyBytes);
  }

  private receive(data: RawData, isBinary: boolean): void {
    const { link, replyBytes } = this;
    this.receivedBytes = 0;
    this.replyBytes = null;
    if (!link || this.isClosing) {
      replyBytes?.release();
      return;
    }
    if (isBinary) {
      link.close(CLOSE_CODES.policy, 'a message is not text');
      replyBytes?.release();
      return;
    }
    const text = textOf(data);
    if (text.length < LONG_BYTES) link.receive(text, replyBytes ? this.releaseFunction(replyBytes) : undefined);
    else this.receiveLong(link, text, replyBytes);
  }

  private receiveLong(link: WorkerLink, text: string, replyBytes: ReplyBytes | null): void {
    const { slices, instanceId } = this.options;
    const pauseReason = {};
    this.pause(pauseReason);
    this.waitingTexts++;
    void slices
      .run(instanceId, async () => link.receive(text, replyBytes ? this.releaseFunction(replyBytes) : undefined))
      .finally(() => {
        this.waitingTexts--;
        this.resume(pauseReason);
        this.endWhenHandled(link);
      });
  }

  /** Ends the link when the transport has ended and all messages are handled: the last one may contain replies. */
  private endWhenHandled(link: WorkerLink): void {
    if (this.closeCode !== null && this.waitingTexts === 0) link.end(this.closeCode);
  }

  /** Returns a function that frees the memory of a message. */
  private releaseFunction(replyBytes: ReplyBytes): () => void {
    this.unrecordedReplies.add(replyBytes);
    return () => {
      this.unrecordedReplies.delete(replyBytes);
      replyBytes.release();
      // The whole message may have arrived before its memory was granted.
      this.resume(replyBytes);
    };
  }

  private pause(reason: object): void {
    this.pauseReasons.add(reason);
    this.options.socket.pause();
  }

  private resume(reason: object): void {
    if (this.pauseReasons.delete(reason) && this.pauseReasons.size === 0) this.options.socket.resume();
  }
}
