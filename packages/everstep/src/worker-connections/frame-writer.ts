/** Writes frames to the transport of a connection, as few messages as possible. */
import type { ServiceFrame } from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';

/** The transport of a connection. */
export interface FrameSocket {
  /** Sends a message. Never throws; a message on a closed socket is dropped. */
  send(message: string): void;
  /** Sends a long message part by part. Messages that are sent later follow it. If absent, the parts are joined. */
  sendParts?(parts: readonly string[]): void;
  /** Ends the connection after the messages that were sent. `code` is a WebSocket close code. */
  close(code: number, reason: string): void;
  /** Returns the number of bytes that are not sent yet. If absent, there are none. */
  unsentBytes?(): number;
  /** Returns whether the server has paused reading from the worker. If absent, reading is never paused. */
  isPaused?(): boolean;
}

/** Text of a frame. A long frame is in parts, and is sent as a separate message. */
export type FrameText = string | readonly string[];

/** Frames are joined until a message has this length. */
const MAX_MESSAGE_LENGTH = 1024 * 1024;
/** A message that is longer than this is announced. A shorter one arrives in time at the minimum rate, whatever its characters. */
const MAX_UNANNOUNCED_LENGTH = 512 * 1024;
const SECOND_MS = 1_000;

const lengthOf = (parts: readonly string[]): number => parts.reduce((sum, { length }) => sum + length, 0);

/** Writes the frames in order, and returns the number of characters of all messages. */
export function writeFrames(socket: FrameSocket, frames: readonly { readonly text: FrameText }[]): number {
  let length = 0;
  /** Announces a message if it is long, because the worker notices a message only when the whole message has arrived. */
  const announce = (parts: readonly string[]): void => {
    if (lengthOf(parts) <= MAX_UNANNOUNCED_LENGTH) return;
    const bytes = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
    const transferMs = Math.ceil((bytes / LIMITS.minWorkerBytesPerS) * SECOND_MS);
    write(`[${JSON.stringify({ kind: 'incoming', transferMs } satisfies ServiceFrame)}]`);
  };
  const write = (message: string): void => {
    announce([message]);
    socket.send(message);
    length += message.length;
  };
  const writeParts = (parts: readonly string[]): void => {
    announce(parts);
    if (socket.sendParts) socket.sendParts(parts);
    else socket.send(parts.join(''));
    length += lengthOf(parts);
  };
  let joinedFrames = '';
  const writeJoined = (): void => {
    if (joinedFrames !== '') write(`[${joinedFrames}]`);
    joinedFrames = '';
  };
  for (const { text } of frames) {
    if (typeof text !== 'string' || joinedFrames.length + text.length > MAX_MESSAGE_LENGTH) writeJoined();
    if (typeof text === 'string') joinedFrames += joinedFrames === '' ? text : `,${text}`;
    else writeParts(['[', ...text, ']']);
  }
  writeJoined();
  return length;
}
