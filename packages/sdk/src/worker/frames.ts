/**
 * The frames of a worker connection. A worker opens a WebSocket to the server and sends a HelloFrame. From then on, the
 * server sends work, and the worker answers it. Each WebSocket message is a JSON array of frames, so that many frames
 * share one write. The contents are the frames of the step protocol, which do not depend on the transport.
 */
import type { CheckReply, CheckRequest, FailedReply, FailureNotice, StepReply, StepRequest } from '../step-protocol.js';

/** Version of the frames in this file. The step protocol has its own version. */
export const CONNECTION_VERSION = 1;

/** Path of the connection at the server. */
export const CONNECT_PATH = '/v2/workers/connect';

/** Maximum size of the first message of a worker, with the header of its WebSocket frame. */
export const MAX_HELLO_BYTES = 128 * 1024;

/** First frame of a worker. It must be the only frame of its message, which has at most MAX_HELLO_BYTES. */
export interface HelloFrame {
  readonly kind: 'hello';
  readonly connection: number;
  /** Version of the step protocol. */
  readonly protocol: number;
  /** Token of the queue instance. */
  readonly token: string;
  readonly app: string;
  /** Names of the workflows that the worker serves. */
  readonly workflows: readonly string[];
  /** Maximum number of requests that the worker handles at the same time. */
  readonly maxConcurrency: number;
  /** Identifies the process. All connections of a process send the same id. */
  readonly workerId: string;
  /** For display: host name, version of the app, and name of the SDK. */
  readonly host?: string;
  readonly version?: string;
  readonly sdk: string;
}

/** A node of the server. `url` is absent if workers cannot reach the node directly. */
export interface ConnectionNode {
  readonly nodeId: string;
  readonly url?: string;
}

/** Why the server rejects or closes a connection. */
export type RejectionCode =
  | 'bad-request'
  | 'unsupported-version'
  | 'unauthorized'
  | 'forbidden'
  | 'too-many-connections'
  | 'too-many-workflows'
  | 'unavailable';

/** A frame of the server. */
export type ServiceFrame =
  | {
      /** The worker is connected. */
      readonly kind: 'welcome';
      readonly connectionId: string;
      readonly nodeId: string;
      /** All nodes, including this one. */
      readonly nodes: readonly ConnectionNode[];
      /** The server sends a ping after this time without another frame. */
      readonly heartbeatMs: number;
      /** Maximum size of one frame of the worker in bytes of JSON. */
      readonly maxFrameBytes: number;
    }
  /** The server rejects the worker and closes the connection. `retry` is true if another attempt can succeed. */
  | { readonly kind: 'rejected'; readonly code: RejectionCode; readonly message: string; readonly retry: boolean }
  | { readonly kind: 'step'; readonly id: number; readonly workflow: string; readonly request: StepRequest }
  | { readonly kind: 'check'; readonly id: number; readonly workflow: string; readonly request: CheckRequest }
  | { readonly kind: 'notice'; readonly id: number; readonly workflow: string; readonly notice: FailureNotice }
  /** The server no longer waits for the answer. */
  | { readonly kind: 'cancel'; readonly id: number }
  | { readonly kind: 'ping' }
  /** The next message is long. `transferMs` is the time in which it arrives at the minimum rate. */
  | { readonly kind: 'incoming'; readonly transferMs: number }
  /** The nodes have changed. `nodeId` is the id of the node of this connection, which may be new. */
  | { readonly kind: 'nodes'; readonly nodes: readonly ConnectionNode[]; readonly nodeId?: string }
  /** The server is stopping: it sends no more work, and waits for the answers to the work in progress. */
  | { readonly kind: 'drain' };

/** Outcome of a failure notice. `retry` says whether the server sends the notice again. */
export type NoticeAnswer =
  | { readonly kind: 'handled' }
  | { readonly kind: 'failed'; readonly message: string; readonly retry: FailedReply['retry'] };

/** A frame of the worker after the first one. */
export type WorkerFrame =
  | { readonly kind: 'answer'; readonly id: number; readonly reply: StepReply | CheckReply }
  | { readonly kind: 'noticed'; readonly id: number; readonly outcome: NoticeAnswer }
  /** The answer is longer than `maxFrameBytes`. */
  | { readonly kind: 'too-long'; readonly id: number; readonly bytes: number }
  /**
   * All work up to this id has started. If the connection is lost, work that has not started does not count as a failed
   * attempt.
   */
  | { readonly kind: 'received'; readonly through: number }
  | { readonly kind: 'pong' }
  /** The worker is stopping: it accepts no more work, and answers the work in progress. */
  | { readonly kind: 'drain' };

/**
 * The server closes a connection after this many heartbeats without a frame, and a worker reconnects. Long messages may take
 * longer: the worker learns from an `incoming` frame how much longer, and sends a pong in each heartbeat interval until then.
 */
export const MISSED_HEARTBEATS = 3;
