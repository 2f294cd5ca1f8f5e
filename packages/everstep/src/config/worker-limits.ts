/** Limits of worker connections, as a part of `LIMITS`. */
const KiB = 1024;
const MiB = 1024 * KiB;
const SECOND_MS = 1000;

export const WORKER_LIMITS = Object.freeze({
  /** Maximum size of a worker's first message, and the time within which the worker must be accepted. */
  maxWorkerHelloBytes: 128 * KiB,
  workerHelloTimeoutMs: 10 * SECOND_MS,
  /** Maximum number of workers that are not accepted yet, in total and per network. */
  maxUnacceptedWorkers: 500,
  maxUnacceptedWorkersPerNetwork: 100,
  /** Maximum number of worker connections. With requests that wait for a result, they use at most three quarters of all. */
  maxWorkers: 10_000,
  maxWorkersPerInstance: 1_000,
  /** Maximum size of a step request. The WebSocket of the package `ws` accepts 100 MiB per message, that of Node 128 MiB. */
  maxWorkerRequestBytes: 96 * MiB,
  /** Maximum size of a message of a worker: the longest reply with its frame. */
  maxWorkerMessageBytes: 33 * MiB,
  /** Maximum number of fragments of a message of a worker. The SDK sends one; a proxy may split messages. */
  maxWorkerMessageFragments: 1_024,
  workersPageDefault: 100,
  workersPageMax: 200,
  /** Maximum number of workflow names in a listing of workers, for each connection. */
  maxListedWorkflowsOfWorker: 50,
  /** Maximum number of workflows without a connected worker in a listing of workers. */
  maxListedUnservedWorkflows: 200,
  /** Maximum number of frames in a message of a worker. */
  maxWorkerFrames: 20_000,
  /**
   * Maximum number of frames that the server did not request, per heartbeat interval, such as replies to unknown
   * requests. Each full KiB of a frame counts as another frame.
   */
  maxUnexpectedWorkerFrames: 1_000,
  /** Maximum number of abandoned requests of a connection whose late replies are still expected. */
  maxLateWorkerReplies: 1_000,
  /** Maximum number of workflows per worker. */
  maxWorkerWorkflows: 1_000,
  /** Maximum number of workflows that the workers of a queue instance serve at one node, over all apps. */
  maxServedWorkflowsOfInstance: 5_000,
  /** Maximum concurrency of a worker. */
  maxWorkerConcurrency: 10_000,
  /** Maximum number of characters in a worker's version or host name. */
  maxWorkerTextLength: 256,
  /** Maximum number of unsent bytes at which a connection still gets another request. */
  maxUnsentWorkerBytes: MiB,
  /** Minimum rate at which a worker must read while bytes are unsent, and at which a long message must arrive. */
  minWorkerBytesPerS: 64 * KiB,
  /** Interval in which a worker must read at the minimum rate after the server abandons a request that the worker has not read. */
  unreadRequestTimeoutMs: 5 * SECOND_MS,
  /** Interval of heartbeats. A connection without a frame for three intervals is closed. */
  workerHeartbeatMs: 10 * SECOND_MS,
  /** Interval at which the tokens of connected workers are verified again. Revocations are noticed earlier. */
  workerTokenCheckMs: 10 * SECOND_MS,
  /** Time for a worker to confirm the end of its connection. */
  workerCloseTimeoutMs: 5 * SECOND_MS,
});
